// A member of a group in @platformatic/kafka; the lines are those of groups/scenario.py. It tells of a rebalance when it is
// too late to commit, so what has come is committed in small portions at once.
'use strict'

const fs = require('fs')
const { Consumer, MessagesStreamFallbackModes, MessagesStreamModes } = require('@platformatic/kafka')

const WAIT_MS = 100
const [bootstrap, groupId, topic, name, mode, sessionMs] = process.argv.slice(2)

const say = (...words) => fs.writeSync(1, `${name} ${words.join(' ')}\n`)
const complain = error => fs.writeSync(2, `${name}: ${error.stack}\n`)

const consumer = new Consumer({
  clientId: name, groupId, bootstrapBrokers: [bootstrap], autocommit: false, maxWaitTime: WAIT_MS,
  retries: 1000, retryDelay: 200, highWaterMark: 10,
  ...(mode === 'consumer'
    ? { groupProtocol: 'consumer' }
    : {
        sessionTimeout: Number(sessionMs), rebalanceTimeout: Number(sessionMs),
        heartbeatInterval: Number(sessionMs) / 12,
      }),
})

let mine = new Set()
const assigned = partitions => {
  mine = new Set(partitions)
  say('assigned', [...mine].sort().join(',') || '-')
}

const main = async () => {
  consumer.on('consumer:group:join', ({ assignments }) =>
    assigned((assignments || []).filter(one => one.topic === topic).flatMap(one => one.partitions)))
  consumer.on('consumer:group:rebalance', () => assigned([]))
  const stream = await consumer.consume({
    topics: [topic], mode: MessagesStreamModes.COMMITTED, fallbackMode: MessagesStreamFallbackModes.EARLIEST,
  })
  process.stdin.resume()
  process.stdin.on('end', async () => {
    await stream.close()
    await consumer.close(true)
    assigned([])
    say('closed')
    process.exit(0)
  })
  for await (const message of stream) {
    if (!mine.has(message.partition)) continue
    say('consumed', message.partition, message.offset)
    const what = `${message.partition}:${message.offset + 1n}`
    say('committing', what)
    try {
      await message.commit()
      say('committed', what)
    } catch (error) {
      say('refused', error.message.replace(/\n/g, ' '))
    }
  }
}

main().catch(error => {
  complain(error)
  process.exit(1)
})
