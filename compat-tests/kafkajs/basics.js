// Records and administration with KafkaJS; what it is told and what it says is in basics/scenario.py.
'use strict'

const {
  CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel,
} = require('kafkajs')
const snappy = require('kafkajs-snappy')
const { run, told } = require('./basics_program.js')

CompressionCodecs[CompressionTypes.Snappy] = snappy

const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }
const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING, retry: { retries: 3 } })
const admin = kafka.admin()
const connected = admin.connect()
let groups = 0

const entries = config => Object.entries(config).map(([name, value]) => ({ name, value }))
const resource = topic => ({ type: ConfigResourceTypes.TOPIC, name: topic })

run({
  async produce({ topic, partition, codec, records }) {
    const producer = kafka.producer()
    await producer.connect()
    const messages = records.map(({ key, value, headers, timestamp }) => ({
      key, value, partition,
      headers: Object.fromEntries(headers.map(header => [header.name, header.value])),
      ...(timestamp ? { timestamp: String(timestamp) } : {}),
    }))
    await producer.send({ topic, messages, acks: -1, compression: CODECS[codec] })
    await producer.disconnect()
  },

  // It reads only as a member of a group.
  async consume({ topic, partition, offset, timestamp, count }) {
    await connected
    let start = offset
    if (timestamp !== undefined) {
      const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
      start = found.find(one => one.partition === partition).offset
    }
    const consumer = kafka.consumer({ groupId: `reading-${++groups}`, maxWaitTimeInMs: 100 })
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    const records = []
    await new Promise((resolve, reject) => {
      consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition: from, message: { offset, timestamp, key, value, headers } }) => {
          if (from !== partition || records.length === count) return
          records.push(told(offset, timestamp, key, value, Object.entries(headers || {})))
          if (records.length === count) resolve()
        },
      }).catch(reject)
      consumer.seek({ topic, partition, offset: String(start) })
    })
    await consumer.disconnect()
    return records
  },

  async create({ topic, count, config }) {
    await connected
    const made = await admin.createTopics({
      topics: [{ topic, numPartitions: count, replicationFactor: 1, configEntries: entries(config) }],
    })
    if (!made) throw new Error('it exists')
  },

  async topics() {
    await connected
    return admin.listTopics()
  },

  async describe({ topic }) {
    await connected
    return (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length
  },

  async add_partitions({ topic, count }) {
    await connected
    await admin.createPartitions({ topicPartitions: [{ topic, count }] })
  },

  async alter_config({ topic, config }) {
    await connected
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource(topic), configEntries: entries(config) }] })
  },

  async config({ topic }) {
    await connected
    const found = await admin.describeConfigs({ resources: [resource(topic)], includeSynonyms: false })
    return Object.fromEntries(found.resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
  },

  async delete_records({ topic, partition, offset }) {
    await connected
    await admin.fetchTopicOffsets(topic) // it deletes only from topics that it has met
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] })
  },

  async delete({ topic }) {
    await connected
    await admin.deleteTopics({ topics: [topic] })
  },

  async groups() {
    await connected
    return (await admin.listGroups()).groups.map(group => group.groupId)
  },

  async group_offsets({ group, topic, partition }) {
    await connected
    const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    return Number(found.partitions.find(one => one.partition === partition).offset)
  },

  async delete_group({ group }) {
    await connected
    await admin.deleteGroups([group])
  },

  async brokers() {
    await connected
    return (await admin.describeCluster()).brokers.map(broker => `${broker.host}:${broker.port}`)
  },
})
