// A member of a group in KafkaJS; the lines are those of groups/scenario.py. KafkaJS tells of a rebalance when it is too
// late to commit, so each batch is committed when it has been worked on.
'use strict'

const fs = require('fs')
const { Kafka, logLevel, PartitionAssigners } = require('kafkajs')

const WORK_MS = 30
const [bootstrap, groupId, topic, name, , sessionMs] = process.argv.slice(2)

const say = (...words) => fs.writeSync(1, `${name} ${words.join(' ')}\n`)
const assigned = partitions => say('assigned', partitions.join(',') || '-')
const complain = () => ({ log }) => fs.writeSync(2, `${name}: ${log.message} ${log.error || ''}\n`)

const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.WARN, logCreator: complain, retry: { maxRetryTime: 1000 } })
const consumer = kafka.consumer({
  groupId,
  sessionTimeout: Number(sessionMs),
  heartbeatInterval: Number(sessionMs) / 12,
  maxWaitTimeInMs: 200,
  partitionAssigners: [PartitionAssigners.roundRobin],
})

const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

const eachBatch = async ({ batch, isRunning, isStale, heartbeat, resolveOffset }) => {
  if (!isRunning() || isStale()) return
  for (const message of batch.messages) say('consumed', batch.partition, message.offset)
  await sleep(WORK_MS)
  const offset = String(BigInt(batch.lastOffset()) + 1n)
  say('committing', `${batch.partition}:${offset}`)
  try {
    await consumer.commitOffsets([{ topic, partition: batch.partition, offset }])
  } catch (error) {
    say('refused', error.message.replace(/\n/g, ' '))
    throw error
  }
  // Once it is told to stop, KafkaJS takes commits and does nothing.
  if (!isRunning()) return say('refused', 'it is stopping')
  say('committed', `${batch.partition}:${offset}`)
  // Before the heartbeat: where that fails, KafkaJS reads again from what is resolved, not from what is committed.
  resolveOffset(batch.lastOffset())
  await heartbeat()
}

const main = async () => {
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assigned(payload.memberAssignment[topic] || []))
  consumer.on(consumer.events.REBALANCING, () => assigned([]))
  consumer.on(consumer.events.CRASH, () => assigned([]))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatch })
  process.stdin.resume()
  process.stdin.on('end', async () => {
    await consumer.stop()
    assigned([])
    await consumer.disconnect()
    say('closed')
    process.exit(0)
  })
}

main().catch(error => {
  fs.writeSync(2, `${name}: ${error.stack}\n`)
  process.exit(1)
})
