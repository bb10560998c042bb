import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges } from './changes.ts'

test('a follower of an account receives its changes, no others, and none after leaving', () => {
  const changes = createChanges()
  const received: string[] = []
  const leave = changes.follow('a', (name) => received.push(`first ${name}`))
  changes.follow('a', (name) => received.push(`second ${name}`))
  changes.follow('b', (name) => received.push(`other ${name}`))
  changes.notify('a', 'apps/shop')
  leave()
  leave()
  changes.notify('a', 'apps/blog')
  changes.notify('c', 'apps/none')
  assert.deepEqual(received, ['first apps/shop', 'second apps/shop', 'second apps/blog'])
})

test('a listener that leaves while it is called does not affect the others', () => {
  const changes = createChanges()
  const received: string[] = []
  const leave = changes.follow('a', (name) => {
    received.push(`one ${name}`)
    leave()
  })
  changes.follow('a', (name) => received.push(`two ${name}`))
  changes.notify('a', 'x')
  changes.notify('a', 'y')
  assert.deepEqual(received, ['one x', 'two x', 'two y'])
})

test('when changes may have been missed, every follower of every account is told', () => {
  const changes = createChanges()
  const received: (string | undefined)[] = []
  changes.follow('a', (name) => received.push(name))
  changes.follow('b', (name) => received.push(name))
  changes.notifyEverything()
  assert.deepEqual(received, [undefined, undefined])
})
