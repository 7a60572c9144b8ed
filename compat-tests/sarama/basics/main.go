// Records and administration with Sarama; what it is told and what it says is in basics/scenario.py.
package main

import (
	"context"
	"errors"
	"fmt"

	"barnabas/compat/basics"
	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func main() {
	basics.Run(basics.Client{
		"produce": produce, "consume": consume,
		"create": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			return nil, admin.CreateTopic(r.Topic, &sarama.TopicDetail{
				NumPartitions: int32(r.Count), ReplicationFactor: 1, ConfigEntries: r.NullableConfig()}, false)
		}),
		"topics": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			topics, err := admin.ListTopics()
			return basics.Names(topics), err
		}),
		"describe": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			found, err := admin.DescribeTopics([]string{r.Topic})
			if err != nil {
				return nil, err
			}
			return len(found[0].Partitions), nil
		}),
		"add_partitions": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			return nil, admin.CreatePartitions(r.Topic, int32(r.Count), nil, false)
		}),
		"alter_config": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			changes := map[string]sarama.IncrementalAlterConfigsEntry{}
			for name, value := range r.NullableConfig() {
				changes[name] = sarama.IncrementalAlterConfigsEntry{
					Operation: sarama.IncrementalAlterConfigsOperationSet, Value: value}
			}
			return nil, admin.IncrementalAlterConfig(sarama.TopicResource, r.Topic, changes, false)
		}),
		"config": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: r.Topic})
			settings := map[string]string{}
			for _, entry := range entries {
				settings[entry.Name] = entry.Value
			}
			return settings, err
		}),
		"delete_records": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			return nil, admin.DeleteRecords(r.Topic, map[int32]int64{r.Partition: r.Offset})
		}),
		"delete": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			return nil, admin.DeleteTopic(r.Topic)
		}),
		"groups": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			groups, err := admin.ListConsumerGroups()
			return basics.Names(groups), err
		}),
		"group_offsets": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			offsets, err := admin.ListConsumerGroupOffsets(r.Group, map[string][]int32{r.Topic: {r.Partition}})
			if err != nil {
				return nil, err
			}
			return offsets.GetBlock(r.Topic, r.Partition).Offset, nil
		}),
		"delete_group": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			return nil, admin.DeleteConsumerGroup(r.Group)
		}),
		"brokers": administer(func(admin sarama.ClusterAdmin, r basics.Request) (any, error) {
			brokers, _, err := admin.DescribeCluster()
			addresses := []string{}
			for _, broker := range brokers {
				addresses = append(addresses, broker.Addr())
			}
			return addresses, err
		}),
	})
}

func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}

func administer(do func(sarama.ClusterAdmin, basics.Request) (any, error)) basics.Verb {
	return func(_ context.Context, bootstrap string, r basics.Request) (any, error) {
		admin, err := sarama.NewClusterAdmin([]string{bootstrap}, newConfig())
		if err != nil {
			return nil, err
		}
		defer admin.Close()
		return do(admin, r)
	}
}

func encoder(content []byte) sarama.Encoder {
	if content == nil {
		return nil
	}
	return sarama.ByteEncoder(content)
}

func produce(_ context.Context, bootstrap string, r basics.Request) (any, error) {
	config := newConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = codecs[r.Codec]
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, told := range r.Records {
		message := &sarama.ProducerMessage{
			Topic: r.Topic, Partition: r.Partition, Timestamp: told.Time(), Key: encoder(told.Key), Value: encoder(told.Value)}
		for _, header := range told.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
		}
		messages = append(messages, message)
	}
	return nil, producer.SendMessages(messages)
}

func consume(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	client, err := sarama.NewClient([]string{bootstrap}, newConfig())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	start := r.Offset
	if r.Timestamp != nil {
		if start, err = client.GetOffset(r.Topic, r.Partition, *r.Timestamp); err != nil {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	partition, err := consumer.ConsumePartition(r.Topic, r.Partition, start)
	if err != nil {
		return nil, err
	}
	defer partition.AsyncClose()
	out := []basics.Record{}
	for len(out) < r.Count {
		select {
		case message, open := <-partition.Messages():
			if !open {
				return nil, errors.New("it ended")
			}
			told := basics.Record{
				Offset: message.Offset, Timestamp: message.Timestamp.UnixMilli(), Key: message.Key, Value: message.Value}
			for _, header := range message.Headers {
				told.Headers = append(told.Headers, basics.Header{Name: string(header.Key), Value: header.Value})
			}
			out = append(out, told)
		case <-ctx.Done():
			return nil, fmt.Errorf("only %d records", len(out))
		}
	}
	return out, nil
}
