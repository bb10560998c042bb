import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { addressesIn, addressReply, answers, CODE, emptyReply, type Question, readQuestion, TYPE } from './message.ts'

function queryFor(name: string, type: number = TYPE.a): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label, 'latin1')])
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1])
}

const questionIn = (query: Buffer): Question => readQuestion(query) ?? assert.fail('there is no question')

/** An alias first, whose name is a pointer, and then two addresses. */
function answerTo(query: Buffer): Buffer {
  const head = Buffer.from(query)
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(3, 6)
  const pointer = [0xc0, 12]
  const alias = [...pointer, 0, 5, 0, 1, 0, 0, 0, 60, 0, 7, 4, ...Buffer.from('edge'), 0xc0, 12]
  const record = (last: number) => [...pointer, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]
  return Buffer.concat([head, Buffer.from([...alias, ...record(1), ...record(2)])])
}

test('a question is read in lower case, and what is not plain in a name as its number', () => {
  assert.deepEqual(readQuestion(queryFor('Registry.EXAMple.org')), { name: 'registry.example.org', type: 1, end: 38 })
  assert.equal(questionIn(queryFor('_srv.a\n')).name, '_srv.a\\010')
  assert.equal(questionIn(queryFor('\xe9')).name, '\\233')
})

test('the addresses of an answer are found behind aliases', () => {
  assert.deepEqual(addressesIn(answerTo(queryFor('cms.test'))), ['192.0.2.1', '192.0.2.2'])
})

test('an address that the forwarder answers itself is an answer to the question, whatever follows that', () => {
  const query = Buffer.concat([queryFor('One.localhost'), Buffer.from([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0])])
  query.writeUInt16BE(1, 10)
  const question = questionIn(query)
  const reply = addressReply(query, question.end, '127.0.0.1')
  assert.equal(answers(reply, query, question), true)
  assert.deepEqual(addressesIn(reply), ['127.0.0.1'])
  assert.deepEqual(
    [4, 6, 8, 10].map((at) => reply.readUInt16BE(at)),
    [1, 1, 0, 0],
  )
})

test('an answer belongs to its question, in whatever case it is repeated', () => {
  const query = queryFor('CMS.test')
  const question = questionIn(query)
  assert.equal(answers(answerTo(query), query, question), true)
  assert.equal(answers(answerTo(queryFor('cms.test')), query, question), true)
  assert.equal(answers(answerTo(queryFor('bad.test')), query, question), false)
  assert.equal(answers(query, query, question), false, 'a question is no answer')
  const other = answerTo(query)
  other.writeUInt16BE(1, 0)
  assert.equal(answers(other, query, question), false, 'another number')
})

test('a reply of our own repeats the question and nothing else', () => {
  const query = queryFor('cms.test', TYPE.aaaa)
  const reply = emptyReply(Buffer.concat([query, Buffer.from('more')]), query.length, CODE.refused)
  assert.equal(answers(reply, query, questionIn(query)), true)
  assert.equal(reply.length, query.length)
  assert.equal(reply.readUInt16BE(2), 0x8185)
})

test('malformed messages have no question and no address, wherever they are cut', () => {
  const whole = answerTo(queryFor('cms.test'))
  for (let end = 0; end < whole.length; end++) {
    assert.ok(addressesIn(whole.subarray(0, end)).length <= 2)
    const query = queryFor('cms.test')
    if (end < query.length) assert.equal(readQuestion(query.subarray(0, end)), undefined)
  }
  for (let tries = 0; tries < 5000; tries++) {
    const noise = randomBytes(tries % 80)
    readQuestion(noise)
    addressesIn(noise)
  }
})
