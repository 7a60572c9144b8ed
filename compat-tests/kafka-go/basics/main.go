// Records and administration with kafka-go; what it is told and what it says is in basics/scenario.py.
package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"barnabas/compat/basics"
	"github.com/segmentio/kafka-go"
)

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

const maxFetchWait = 200 * time.Millisecond

func main() {
	basics.Run(basics.Client{
		"produce": produce, "consume": consume,
		"create": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			topic := kafka.TopicConfig{Topic: r.Topic, NumPartitions: r.Count, ReplicationFactor: 1}
			for name, value := range r.Config {
				topic.ConfigEntries = append(topic.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
			}
			done, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{topic}})
			if err == nil {
				err = done.Errors[r.Topic]
			}
			return nil, err
		}),
		"topics": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			found, err := client.Metadata(ctx, &kafka.MetadataRequest{})
			if err != nil {
				return nil, err
			}
			names := []string{}
			for _, topic := range found.Topics {
				names = append(names, topic.Name)
			}
			return names, nil
		}),
		"describe": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			found, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{r.Topic}})
			if err != nil {
				return nil, err
			}
			return len(found.Topics[0].Partitions), found.Topics[0].Error
		}),
		"add_partitions": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			done, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
				Topics: []kafka.TopicPartitionsConfig{{Name: r.Topic, Count: int32(r.Count)}}})
			if err == nil {
				err = done.Errors[r.Topic]
			}
			return nil, err
		}),
		"alter_config": ask(alterConfig), "config": ask(config),
		"delete": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			done, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{r.Topic}})
			if err == nil {
				err = done.Errors[r.Topic]
			}
			return nil, err
		}),
		"groups": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			found, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
			if err != nil {
				return nil, err
			}
			names := []string{}
			for _, group := range found.Groups {
				names = append(names, group.GroupID)
			}
			return names, found.Error
		}),
		"group_offsets": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			found, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
				GroupID: r.Group, Topics: map[string][]int{r.Topic: {int(r.Partition)}}})
			if err != nil {
				return nil, err
			}
			return found.Topics[r.Topic][0].CommittedOffset, found.Error
		}),
		"delete_group": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			done, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{r.Group}})
			if err == nil {
				err = done.Errors[r.Group]
			}
			return nil, err
		}),
		"brokers": ask(func(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
			found, err := client.Metadata(ctx, &kafka.MetadataRequest{})
			if err != nil {
				return nil, err
			}
			addresses := []string{}
			for _, broker := range found.Brokers {
				addresses = append(addresses, net.JoinHostPort(broker.Host, strconv.Itoa(broker.Port)))
			}
			return addresses, nil
		}),
	})
}

func ask(do func(context.Context, *kafka.Client, basics.Request) (any, error)) basics.Verb {
	return func(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
		// A transport of its own: the one that is shared goes on with old metadata for a while.
		transport := &kafka.Transport{}
		defer transport.CloseIdleConnections()
		return do(ctx, &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: basics.Timeout, Transport: transport}, r)
	}
}

func alterConfig(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
	resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: r.Topic}
	for name, value := range r.Config {
		resource.Configs = append(resource.Configs, kafka.IncrementalAlterConfigsRequestConfig{
			Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet})
	}
	done, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
	if err == nil {
		err = done.Resources[0].Error
	}
	return nil, err
}

func config(ctx context.Context, client *kafka.Client, r basics.Request) (any, error) {
	found, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: r.Topic}}})
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, entry := range found.Resources[0].ConfigEntries {
		settings[entry.ConfigName] = entry.ConfigValue
	}
	return settings, found.Resources[0].Error
}

func produce(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: r.Topic, RequiredAcks: kafka.RequireAll, Compression: codecs[r.Codec],
		BatchTimeout: time.Millisecond, BatchSize: 1000, Transport: transport,
		Balancer: kafka.BalancerFunc(func(kafka.Message, ...int) int { return int(r.Partition) }),
	}
	var messages []kafka.Message
	for _, told := range r.Records {
		message := kafka.Message{Time: told.Time(), Key: told.Key, Value: told.Value}
		for _, header := range told.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
		messages = append(messages, message)
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		return nil, err
	}
	return nil, writer.Close()
}

func consume(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, Topic: r.Topic, Partition: int(r.Partition), MaxWait: maxFetchWait})
	defer reader.Close()
	start := func() error { return reader.SetOffset(r.Offset) }
	if r.Timestamp != nil {
		start = func() error { return reader.SetOffsetAt(ctx, time.UnixMilli(*r.Timestamp)) }
	}
	if err := start(); err != nil {
		return nil, err
	}
	out := []basics.Record{}
	for len(out) < r.Count {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		told := basics.Record{Offset: message.Offset, Timestamp: message.Time.UnixMilli(), Key: message.Key, Value: message.Value}
		for _, header := range message.Headers {
			told.Headers = append(told.Headers, basics.Header{Name: header.Key, Value: header.Value})
		}
		out = append(out, told)
	}
	return out, nil
}
