// Records and administration with @platformatic/kafka; what it is told and what it says is in basics/scenario.py.
'use strict'

const { Admin, Consumer, MessagesStreamModes, Producer } = require('@platformatic/kafka')
const { run, told } = require('./basics_program.js')

const TOPIC = 2 // a resource's type
const SET = 0
const settings = { clientId: 'basics', bootstrapBrokers: [process.argv[2]], retries: 3, retryDelay: 100 }
const admin = new Admin(settings)
let groups = 0

const named = config => Object.entries(config).map(([name, value]) => ({ name, value }))

run({
  async produce({ topic, partition, codec, records }) {
    const producer = new Producer({ ...settings, acks: -1, compression: codec })
    const messages = records.map(({ key, value, headers, timestamp }) => ({
      topic, partition, key, value,
      headers: new Map(headers.map(header => [Buffer.from(header.name), header.value])),
      ...(timestamp ? { timestamp: BigInt(timestamp) } : {}),
    }))
    await producer.send({ messages })
    await producer.close()
  },

  // It reads only as a member of a group.
  async consume({ topic, partition, offset, timestamp, count }) {
    let start = BigInt(offset ?? 0)
    if (timestamp !== undefined) {
      const asked = [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: BigInt(timestamp) }] }]
      start = (await admin.listOffsets({ topics: asked }))[0].partitions[0].offset
    }
    const consumer = new Consumer({ ...settings, groupId: `reading-${++groups}`, autocommit: false, maxWaitTime: 100 })
    const { partitionsCount } = (await admin.metadata({ topics: [topic], forceUpdate: true })).topics.get(topic)
    const offsets = Array.from({ length: partitionsCount }, (_, each) =>
      ({ topic, partition: each, offset: each === partition ? start : 0n }))
    const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.MANUAL, offsets })
    const records = []
    for await (const message of stream) {
      if (message.partition !== partition) continue
      records.push(told(message.offset, message.timestamp, message.key, message.value, message.headerEntries))
      if (records.length === count) break
    }
    await consumer.close(true)
    return records
  },

  create: ({ topic, count, config }) =>
    admin.createTopics({ topics: [topic], partitions: count, replicas: 1, configs: named(config) }).then(() => null),

  topics: () => admin.listTopics(),

  describe: async ({ topic }) =>
    (await admin.metadata({ topics: [topic], forceUpdate: true })).topics.get(topic).partitionsCount,

  add_partitions: ({ topic, count }) => admin.createPartitions({ topics: [{ name: topic, count, assignments: null }] }),

  alter_config: ({ topic, config }) => admin.incrementalAlterConfigs({
    resources: [{
      resourceType: TOPIC, resourceName: topic,
      configs: named(config).map(entry => ({ ...entry, configOperation: SET })),
    }],
  }),

  async config({ topic }) {
    const [found] = await admin.describeConfigs({
      resources: [{ resourceType: TOPIC, resourceName: topic, configurationKeys: null }],
    })
    return Object.fromEntries(found.configs.map(entry => [entry.name, entry.value]))
  },

  delete_records: ({ topic, partition, offset }) =>
    admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition, offset: BigInt(offset) }] }] }).then(() => null),

  delete: ({ topic }) => admin.deleteTopics({ topics: [topic] }),

  groups: async () => [...(await admin.listGroups()).keys()],

  async group_offsets({ group, topic, partition }) {
    const asked = [{ groupId: group, topics: [{ name: topic, partitionIndexes: [partition] }] }]
    return Number((await admin.listConsumerGroupOffsets({ groups: asked }))[0].topics[0].partitions[0].committedOffset)
  },

  delete_group: ({ group }) => admin.deleteGroups({ groups: [group] }),

  brokers: async () =>
    [...(await admin.metadata({ topics: [], forceUpdate: true })).brokers.values()].map(one => `${one.host}:${one.port}`),
})
