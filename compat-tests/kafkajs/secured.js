// Ways into a secured broker with KafkaJS; security/ways.py tells what is asked and what is said.
'use strict'

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const TIMEOUT_MS = 30000
const TOPIC_AUTHORIZATION_FAILED = 29
// It takes the challenge that tells of a bad token for the end, and goes on. Then it is told so, or cut off.
const ILLEGAL_SASL_STATE = 34
const CUT_OFF = ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError']
const ways = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))
const read = path => fs.readFileSync(path, 'utf8')

const settings = way => {
  const chosen = { brokers: [way.bootstrap], logLevel: logLevel.NOTHING, retry: { retries: 2 } }
  if (way.protocol.endsWith('SSL')) {
    chosen.ssl = { ca: [read(way.ca)] }
    if (way.certificate) Object.assign(chosen.ssl, { cert: read(way.certificate), key: read(way.key) })
  }
  if (way.token) {
    chosen.sasl = { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: way.token }) }
  } else if (way.mechanism) {
    chosen.sasl = { mechanism: way.mechanism.toLowerCase(), username: way.username, password: way.password }
  }
  return chosen
}

const deadline = what =>
  new Promise((_, reject) => setTimeout(() => reject(new Error(`${what} took too long`)), TIMEOUT_MS).unref())

const produce = async (kafka, way) => {
  const producer = kafka.producer({ allowAutoTopicCreation: true })
  try {
    await producer.connect()
    for (const value of way.values)
      await producer.send({ topic: way.topic, messages: [{ value, partition: 0 }] })
  } finally {
    await producer.disconnect()
  }
}

const consume = async (kafka, way) => {
  const consumer = kafka.consumer({ groupId: `secured-kafkajs-${way.name}`, maxWaitTimeInMs: 100 })
  const values = []
  try {
    await consumer.connect()
    await consumer.subscribe({ topic: way.topic, fromBeginning: true })
    await Promise.race([
      deadline('reading'),
      new Promise((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error))
        consumer.run({
          eachMessage: async ({ message }) => {
            values.push(message.value.toString())
            if (values.length === way.values.length) resolve()
          },
        }).catch(reject)
      }),
    ])
  } finally {
    await consumer.disconnect()
  }
  return values
}

// What went wrong lies at the end of a chain of retries.
const meaning = error => {
  for (let at = error; at; at = at.cause || at.originalError) {
    if (at.code === TOPIC_AUTHORIZATION_FAILED) return 'denied'
    if (at.code === ILLEGAL_SASL_STATE) return 'refused'
    // A certificate that is refused shows as a connection that failed.
    if (at.name === 'KafkaJSSASLAuthenticationError' || CUT_OFF.includes(at.name)) return 'refused'
  }
  return 'error'
}

const go = async way => {
  let outcome = 'values'
  let detail
  try {
    const kafka = new Kafka(settings(way))
    await produce(kafka, way)
    detail = await consume(kafka, way)
  } catch (error) {
    outcome = meaning(error)
    detail = `${error.name}: ${error.message}`
  }
  fs.writeSync(1, JSON.stringify({ way: way.name, outcome, detail }) + '\n')
}

Promise.all(ways.map(go)).then(() => process.exit(0))
