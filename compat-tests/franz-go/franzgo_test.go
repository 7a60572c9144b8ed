// Package franzgo runs franz-go, Go's Kafka client, against the broker at BARNABAS_BOOTSTRAP.
package franzgo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const timeout = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("BARNABAS_BOOTSTRAP") == "" {
		fmt.Fprintln(os.Stderr, "BARNABAS_BOOTSTRAP is not set; run franz_go_test.py")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestDefaultProducerGetsConsecutiveOffsets(t *testing.T) {
	topic := create(t, 2, nil)
	for partition := range int32(2) {
		for i, sent := range produce(t, values(topic, partition, 20_000)) {
			if sent.Offset != int64(i) {
				t.Fatalf("record %d of partition %d got offset %d", i, partition, sent.Offset)
			}
		}
		wantValues(t, consume(t, topic, partition, kgo.NewOffset().At(0), 20_000), 0)
	}
}

func TestEachCompression(t *testing.T) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			topic := create(t, 1, nil)
			produce(t, values(topic, 0, 5_000), kgo.ProducerBatchCompression(codec))
			wantValues(t, consume(t, topic, 0, kgo.NewOffset().At(0), 5_000), 0)
			wantValues(t, consume(t, topic, 0, kgo.NewOffset().At(2_501), 10), 2_501)
		})
	}
}

func TestAcknowledgementsOfEachKind(t *testing.T) {
	for name, acks := range map[string]kgo.Acks{"none": kgo.NoAck(), "leader": kgo.LeaderAck(), "all": kgo.AllISRAcks()} {
		t.Run(name, func(t *testing.T) {
			topic := create(t, 1, nil)
			produce(t, values(topic, 0, 1_000), kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite())
			wantValues(t, consume(t, topic, 0, kgo.NewOffset().At(0), 1_000), 0)
		})
	}
}

func TestKeysHeadersNullsAndTimesComeBack(t *testing.T) {
	topic := create(t, 1, nil)
	at := time.UnixMilli(1_700_000_000_000)
	sent := []*kgo.Record{
		{Topic: topic, Key: []byte("k"), Value: nil, Timestamp: at, Headers: []kgo.RecordHeader{
			{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}, {Key: "null"}, {Key: "empty", Value: []byte{}},
		}},
		{Topic: topic, Key: nil, Value: []byte{}, Timestamp: at},
	}
	produce(t, sent)
	for i, found := range consume(t, topic, 0, kgo.NewOffset().At(0), 2) {
		want := sent[i]
		if !same(found.Key, want.Key) || !same(found.Value, want.Value) || !found.Timestamp.Equal(at) {
			t.Errorf("record %d: found %+v, want %+v", i, found, want)
		}
		if !slices.EqualFunc(found.Headers, want.Headers, func(a, b kgo.RecordHeader) bool {
			return a.Key == b.Key && same(a.Value, b.Value)
		}) {
			t.Errorf("record %d: headers %v, want %v", i, found.Headers, want.Headers)
		}
	}
}

func TestProducingCreatesTheTopic(t *testing.T) {
	topic := name(t)
	produce(t, values(topic, 0, 10), kgo.AllowAutoTopicCreation())
	wantValues(t, consume(t, topic, 0, kgo.NewOffset().At(0), 10), 0)
}

func TestRecordAboveTheTopicsLimitIsRefused(t *testing.T) {
	limit := "2000"
	topic := create(t, 1, map[string]*string{"max.message.bytes": &limit})
	client := connect(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	large := &kgo.Record{Topic: topic, Value: bytes.Repeat([]byte("x"), 10_000)}
	if err := client.ProduceSync(within(t), large).FirstErr(); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("got %v, want %v", err, kerr.MessageTooLarge)
	}
	if err := client.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: []byte("small")}).FirstErr(); err != nil {
		t.Error(err)
	}
}

func TestConsumingStartsWhereItIsTold(t *testing.T) {
	topic := create(t, 1, nil)
	start := time.UnixMilli(1_700_000_000_000)
	records := values(topic, 0, 100)
	for i, record := range records {
		record.Timestamp = start.Add(time.Duration(i) * time.Second)
	}
	produce(t, records)
	for _, c := range []struct {
		offset kgo.Offset
		first  int
	}{
		{kgo.NewOffset().AtStart(), 0},
		{kgo.NewOffset().At(42), 42},
		{kgo.NewOffset().AtEnd().Relative(-3), 97},
		{kgo.NewOffset().AfterMilli(start.Add(90 * time.Second).UnixMilli()), 90},
	} {
		wantValues(t, consume(t, topic, 0, c.offset, 3), c.first)
	}
}

func TestConsumingSeveralPartitionsOfSeveralTopics(t *testing.T) {
	topics := []string{create(t, 3, nil), create(t, 3, nil)}
	offsets := map[string]map[int32]kgo.Offset{}
	for _, topic := range topics {
		offsets[topic] = map[int32]kgo.Offset{}
		for partition := range int32(3) {
			produce(t, values(topic, partition, 200))
			offsets[topic][partition] = kgo.NewOffset().At(int64(50 * partition))
		}
	}
	client := connect(t, kgo.ConsumePartitions(offsets))
	next := map[string]int64{}
	for _, record := range poll(t, client, len(topics)*(200+150+100)) {
		key := fmt.Sprint(record.Topic, record.Partition)
		if _, seen := next[key]; !seen {
			next[key] = int64(50 * record.Partition)
		}
		if record.Offset != next[key] {
			t.Fatalf("%s/%d: offset %d, want %d", record.Topic, record.Partition, record.Offset, next[key])
		}
		next[key]++
	}
}

func TestSmallFetchesStillDeliverLargeRecords(t *testing.T) {
	topic := create(t, 1, nil)
	large := bytes.Repeat([]byte("x"), 700_000)
	client := connect(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for range 3 {
		if err := client.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: large}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	offset := kgo.NewOffset().At(0)
	found := consume(t, topic, 0, offset, 3, kgo.FetchMaxBytes(1_000), kgo.FetchMaxPartitionBytes(500))
	if !bytes.Equal(found[2].Value, large) {
		t.Error("the last record is not what was sent")
	}
}

func TestAdminCreatesDescribesGrowsAndDeletesTopics(t *testing.T) {
	retention := "7000"
	topic := create(t, 2, map[string]*string{"retention.ms": &retention})
	admin := kadm.NewClient(connect(t))
	if _, err := admin.CreateTopic(within(t), 1, 1, nil, topic); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("creating it again: got %v", err)
	}
	if detail := list(t, admin, topic); len(detail.Partitions) != 2 || detail.ID == (kadm.TopicID{}) {
		t.Errorf("listed as %+v", detail)
	}
	configs, err := admin.DescribeTopicConfigs(within(t), topic)
	must(t, err)
	config := configs[0].Configs[slices.IndexFunc(configs[0].Configs, func(c kadm.Config) bool { return c.Key == "retention.ms" })]
	if config.MaybeValue() != retention {
		t.Errorf("retention.ms is %q", config.MaybeValue())
	}
	grown, err := admin.UpdatePartitions(within(t), 5, topic)
	must(t, errors.Join(err, grown.Error()))
	eventually(t, func() bool { return len(list(t, admin, topic).Partitions) == 5 })
	_, err = admin.DeleteTopic(within(t), topic)
	must(t, err)
	eventually(t, func() bool { return list(t, admin, topic).Err != nil })
	if _, err := admin.DeleteTopic(within(t), topic); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("deleting it again: got %v", err)
	}
}

func TestAdminListsOffsetsAndDeletesRecords(t *testing.T) {
	topic := create(t, 1, nil)
	sent := produce(t, values(topic, 0, 100))
	admin := kadm.NewClient(connect(t))
	var before kadm.Offsets
	before.AddOffset(topic, 0, 30, -1)
	deleted, err := admin.DeleteRecords(within(t), before)
	must(t, errors.Join(err, deleted.Error()))

	start, err := admin.ListStartOffsets(within(t), topic)
	must(t, err)
	end, err := admin.ListEndOffsets(within(t), topic)
	must(t, err)
	after, err := admin.ListOffsetsAfterMilli(within(t), sent[99].Timestamp.UnixMilli()+1, topic)
	must(t, err)
	for what, c := range map[string]struct {
		listed kadm.ListedOffsets
		want   int64
	}{"start": {start, 30}, "end": {end, 100}, "after the last": {after, 100}} {
		if found, _ := c.listed.Lookup(topic, 0); found.Err != nil || found.Offset != c.want {
			t.Errorf("%s: found %+v, want %d", what, found, c.want)
		}
	}
}

func TestAdminDescribesCluster(t *testing.T) {
	admin := kadm.NewClient(connect(t))
	metadata, err := admin.BrokerMetadata(within(t))
	must(t, err)
	broker := metadata.Brokers[0]
	if found := fmt.Sprintf("%s:%d", broker.Host, broker.Port); found != os.Getenv("BARNABAS_BOOTSTRAP") {
		t.Errorf("the broker is at %s", found)
	}
	if len(metadata.Cluster) != 22 {
		t.Errorf("cluster id %q", metadata.Cluster)
	}
	topic := create(t, 2, nil)
	eventually(t, func() bool {
		directories, err := admin.DescribeAllLogDirs(within(t), kadm.TopicsSet{topic: {0: {}, 1: {}}})
		must(t, err)
		found := 0
		directories.Each(func(directory kadm.DescribedLogDir) {
			must(t, directory.Err)
			found += len(directory.Topics[topic])
		})
		return found == 2
	})
}

// Verbs

func connect(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(os.Getenv("BARNABAS_BOOTSTRAP")),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, options...)...)
	must(t, err)
	t.Cleanup(client.Close)
	return client
}

var topics int

// name makes a topic's name of the test's, a new one at each call.
func name(t *testing.T) string {
	topics++
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), topics)
}

func create(t *testing.T, partitions int32, configs map[string]*string) string {
	t.Helper()
	topic := name(t)
	_, err := kadm.NewClient(connect(t)).CreateTopic(within(t), partitions, 1, configs, topic)
	must(t, err)
	return topic
}

func list(t *testing.T, admin *kadm.Client, topic string) kadm.TopicDetail {
	t.Helper()
	details, err := admin.ListTopics(within(t), topic)
	must(t, err)
	return details[topic]
}

func values(topic string, partition int32, count int) []*kgo.Record {
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "value %d", i)}
	}
	return records
}

// produce sends the records and returns them in the order of sending, with what the broker gave them.
func produce(t *testing.T, records []*kgo.Record, options ...kgo.Opt) []*kgo.Record {
	t.Helper()
	client := connect(t, options...)
	sent := client.ProduceSync(within(t), records...)
	must(t, sent.FirstErr())
	return records
}

func consume(t *testing.T, topic string, partition int32, from kgo.Offset, count int, options ...kgo.Opt) []*kgo.Record {
	t.Helper()
	offsets := map[string]map[int32]kgo.Offset{topic: {partition: from}}
	return poll(t, connect(t, append(options, kgo.ConsumePartitions(offsets))...), count)[:count]
}

func poll(t *testing.T, client *kgo.Client, count int) []*kgo.Record {
	t.Helper()
	ctx := within(t)
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(ctx)
		must(t, fetches.Err())
		records = append(records, fetches.Records()...)
	}
	return records
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	return ctx
}

// Checks

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantValues(t *testing.T, found []*kgo.Record, first int) {
	t.Helper()
	for i, record := range found {
		if want := fmt.Sprintf("value %d", first+i); string(record.Value) != want || record.Offset != int64(first+i) {
			t.Fatalf("at offset %d: %q, want %q", record.Offset, record.Value, want)
		}
	}
}

// same tells null and empty apart.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) && (a == nil) == (b == nil)
}

// eventually waits, since metadata may trail a change for a moment.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not happen in time")
		}
	}
}
