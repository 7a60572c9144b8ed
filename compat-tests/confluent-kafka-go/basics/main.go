// Records and administration with confluent-kafka-go; what it is told and what it says is in basics/scenario.py.
package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"barnabas/compat/basics"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const timeoutMS = int(basics.Timeout / time.Millisecond)

func main() {
	basics.Run(basics.Client{
		"produce": produce, "consume": consume,
		"create": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			done, err := admin.CreateTopics(ctx, []kafka.TopicSpecification{{
				Topic: r.Topic, NumPartitions: r.Count, ReplicationFactor: 1, Config: r.Config}})
			return nil, failure(done, err)
		}),
		"topics": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			found, err := admin.GetMetadata(nil, true, timeoutMS)
			if err != nil {
				return nil, err
			}
			return basics.Names(found.Topics), nil
		}),
		"describe": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			found, err := admin.DescribeTopics(ctx, kafka.NewTopicCollectionOfTopicNames([]string{r.Topic}))
			if err != nil {
				return nil, err
			}
			return len(found.TopicDescriptions[0].Partitions), nil
		}),
		"add_partitions": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			done, err := admin.CreatePartitions(ctx, []kafka.PartitionsSpecification{{Topic: r.Topic, IncreaseTo: r.Count}})
			return nil, failure(done, err)
		}),
		"alter_config": administer(alterConfig), "config": administer(config),
		"delete_records": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			done, err := admin.DeleteRecords(ctx, []kafka.TopicPartition{{
				Topic: &r.Topic, Partition: r.Partition, Offset: kafka.Offset(r.Offset)}})
			if err != nil {
				return nil, err
			}
			return nil, done.DeleteRecordsResults[0].TopicPartition.Error
		}),
		"delete": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			done, err := admin.DeleteTopics(ctx, []string{r.Topic})
			return nil, failure(done, err)
		}),
		"groups": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			found, err := admin.ListConsumerGroups(ctx)
			names := []string{}
			for _, group := range found.Valid {
				names = append(names, group.GroupID)
			}
			return names, err
		}),
		"group_offsets": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			found, err := admin.ListConsumerGroupOffsets(ctx, []kafka.ConsumerGroupTopicPartitions{{
				Group: r.Group, Partitions: []kafka.TopicPartition{{Topic: &r.Topic, Partition: r.Partition}}}})
			if err != nil {
				return nil, err
			}
			return int64(found.ConsumerGroupsTopicPartitions[0].Partitions[0].Offset), nil
		}),
		"delete_group": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			done, err := admin.DeleteConsumerGroups(ctx, []string{r.Group})
			if err == nil {
				err = code(done.ConsumerGroupResults[0].Error)
			}
			return nil, err
		}),
		"brokers": administer(func(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
			found, err := admin.DescribeCluster(ctx)
			addresses := []string{}
			for _, node := range found.Nodes {
				addresses = append(addresses, net.JoinHostPort(node.Host, strconv.Itoa(node.Port)))
			}
			return addresses, err
		}),
	})
}

func code(err kafka.Error) error {
	if err.Code() == kafka.ErrNoError {
		return nil
	}
	return err
}

func failure(done []kafka.TopicResult, err error) error {
	if err == nil {
		err = code(done[0].Error)
	}
	return err
}

func settings(bootstrap string) kafka.ConfigMap {
	return kafka.ConfigMap{"bootstrap.servers": bootstrap, "log_level": 2}
}

func administer(do func(context.Context, *kafka.AdminClient, basics.Request) (any, error)) basics.Verb {
	return func(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
		config := settings(bootstrap)
		admin, err := kafka.NewAdminClient(&config)
		if err != nil {
			return nil, err
		}
		defer admin.Close()
		return do(ctx, admin, r)
	}
}

func alterConfig(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
	resource := kafka.ConfigResource{Type: kafka.ResourceTopic, Name: r.Topic}
	for name, value := range r.Config {
		resource.Config = append(resource.Config, kafka.ConfigEntry{
			Name: name, Value: value, IncrementalOperation: kafka.AlterConfigOpTypeSet})
	}
	done, err := admin.IncrementalAlterConfigs(ctx, []kafka.ConfigResource{resource})
	if err == nil {
		err = code(done[0].Error)
	}
	return nil, err
}

func config(ctx context.Context, admin *kafka.AdminClient, r basics.Request) (any, error) {
	found, err := admin.DescribeConfigs(ctx, []kafka.ConfigResource{{Type: kafka.ResourceTopic, Name: r.Topic}})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, entry := range found[0].Config {
		out[name] = entry.Value
	}
	return out, code(found[0].Error)
}

func produce(_ context.Context, bootstrap string, r basics.Request) (any, error) {
	config := settings(bootstrap)
	config["compression.type"], config["acks"], config["linger.ms"] = r.Codec, "all", 50
	producer, err := kafka.NewProducer(&config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	delivered := make(chan kafka.Event, len(r.Records))
	for _, told := range r.Records {
		message := &kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &r.Topic, Partition: r.Partition},
			Timestamp:      told.Time(), Key: told.Key, Value: told.Value}
		for _, header := range told.Headers {
			message.Headers = append(message.Headers, kafka.Header{Key: header.Name, Value: header.Value})
		}
		if err := producer.Produce(message, delivered); err != nil {
			return nil, err
		}
	}
	for range r.Records {
		event := <-delivered
		if err := event.(*kafka.Message).TopicPartition.Error; err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func consume(ctx context.Context, bootstrap string, r basics.Request) (any, error) {
	config := settings(bootstrap)
	config["group.id"], config["enable.auto.commit"] = "unused", false
	consumer, err := kafka.NewConsumer(&config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	start := []kafka.TopicPartition{{Topic: &r.Topic, Partition: r.Partition, Offset: kafka.Offset(r.Offset)}}
	if r.Timestamp != nil {
		start[0].Offset = kafka.Offset(*r.Timestamp)
		if start, err = consumer.OffsetsForTimes(start, timeoutMS); err != nil {
			return nil, err
		}
	}
	if err := consumer.Assign(start); err != nil {
		return nil, err
	}
	out := []basics.Record{}
	for len(out) < r.Count {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("only %d records", len(out))
		}
		message, ok := consumer.Poll(100).(*kafka.Message)
		if !ok {
			continue
		}
		if message.TopicPartition.Error != nil {
			return nil, message.TopicPartition.Error
		}
		told := basics.Record{Offset: int64(message.TopicPartition.Offset), Timestamp: message.Timestamp.UnixMilli(),
			Key: message.Key, Value: message.Value}
		for _, header := range message.Headers {
			told.Headers = append(told.Headers, basics.Header{Name: header.Key, Value: header.Value})
		}
		out = append(out, told)
	}
	return out, nil
}
