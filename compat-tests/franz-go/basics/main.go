// Records and administration with franz-go; what it is told and what it says is in basics/scenario.py.
package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"barnabas/compat/basics"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func main() {
	basics.Run(basics.Client{
		"produce": produce, "consume": consume,
		"create": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			_, err := admin.CreateTopic(ctx, int32(r.Count), 1, r.NullableConfig(), r.Topic)
			return nil, err
		}),
		"topics": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			topics, err := admin.ListTopics(ctx)
			return topics.Names(), err
		}),
		"describe": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			topics, err := admin.ListTopics(ctx, r.Topic)
			return len(topics[r.Topic].Partitions), err
		}),
		"add_partitions": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			done, err := admin.UpdatePartitions(ctx, r.Count, r.Topic)
			if err == nil {
				err = done.Error()
			}
			return nil, err
		}),
		"alter_config": administer(alterConfig), "config": administer(config),
		"delete_records": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			offsets := kadm.Offsets{}
			offsets.AddOffset(r.Topic, r.Partition, r.Offset, -1)
			done, err := admin.DeleteRecords(ctx, offsets)
			if err == nil {
				err = done.Error()
			}
			return nil, err
		}),
		"delete": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			_, err := admin.DeleteTopic(ctx, r.Topic)
			return nil, err
		}),
		"groups": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			groups, err := admin.ListGroups(ctx)
			return groups.Groups(), err
		}),
		"group_offsets": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			offsets, err := admin.FetchOffsets(ctx, r.Group)
			found, _ := offsets.Lookup(r.Topic, r.Partition)
			return found.At, err
		}),
		"delete_group": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			_, err := admin.DeleteGroup(ctx, r.Group)
			return nil, err
		}),
		"brokers": administer(func(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
			brokers, err := admin.ListBrokers(ctx)
			addresses := []string{}
			for _, broker := range brokers {
				addresses = append(addresses, net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port))))
			}
			return addresses, err
		}),
	})
}

func produce(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[r.Codec]), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, told := range r.Records {
		record := &kgo.Record{
			Topic: r.Topic, Partition: r.Partition, Timestamp: told.Time(), Key: told.Key, Value: told.Value}
		for _, header := range told.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		records = append(records, record)
	}
	return nil, client.ProduceSync(ctx, records...).FirstErr()
}

func consume(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	start := kgo.NewOffset().At(r.Offset)
	if r.Timestamp != nil {
		start = kgo.NewOffset().AfterMilli(*r.Timestamp)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: {r.Partition: start}}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	out := []basics.Record{}
	for len(out) < r.Count {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("after %d records: %w", len(out), errs[0].Err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			told := basics.Record{Offset: record.Offset, Timestamp: record.Timestamp.UnixMilli(), Key: record.Key, Value: record.Value}
			for _, header := range record.Headers {
				told.Headers = append(told.Headers, basics.Header{Name: header.Key, Value: header.Value})
			}
			out = append(out, told)
		})
	}
	return out, nil
}

func administer(do func(context.Context, *kadm.Client, basics.Request) (any, error)) basics.Verb {
	return func(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
		admin, err := kadm.NewOptClient(kgo.SeedBrokers(bootstrap))
		if err != nil {
			return nil, err
		}
		defer admin.Close()
		return do(ctx, admin, r)
	}
}

func alterConfig(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
	var changes []kadm.AlterConfig
	for name, value := range r.Config {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: kadm.StringPtr(value)})
	}
	done, err := admin.AlterTopicConfigs(ctx, changes, r.Topic)
	if err != nil {
		return nil, err
	}
	_, err = done.On(r.Topic, func(one *kadm.AlterConfigsResponse) error { return one.Err })
	return nil, err
}

func config(ctx context.Context, admin *kadm.Client, r basics.Request) (any, error) {
	described, err := admin.DescribeTopicConfigs(ctx, r.Topic)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	_, err = described.On(r.Topic, func(one *kadm.ResourceConfig) error {
		for _, setting := range one.Configs {
			settings[setting.Key] = setting.MaybeValue()
		}
		return one.Err
	})
	return settings, err
}
