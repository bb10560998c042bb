import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideForwarding } from './forwarding.ts'

const machine = (isRouter: boolean, isOn: Record<string, boolean>) => ({
  isRouter,
  isOn: new Map(Object.entries(isOn)),
})
const FRESH = { isRouter: false, guarded: [] }

test('what does not forward is switched on and guarded; what does is left alone', () => {
  const decided = decideForwarding(machine(false, { eth0: false, wg0: true }), FRESH)
  assert.deepEqual(decided, { isRouter: false, guarded: ['eth0'], switchOn: ['eth0'] })
})

test('what was switched on stays guarded, and an interface that is gone does not', () => {
  const decided = decideForwarding(machine(false, { eth0: true }), { isRouter: false, guarded: ['eth0', 'usb0'] })
  assert.deepEqual(decided, { isRouter: false, guarded: ['eth0'], switchOn: [] })
})

test('when the machine becomes a router, nothing is guarded any more', () => {
  const decided = decideForwarding(machine(true, { eth0: true }), { isRouter: false, guarded: ['eth0'] })
  assert.deepEqual(decided, { isRouter: true, guarded: [], switchOn: [] })
})

test('an interface that a router leaves out is switched on, guarded, and stays so', () => {
  const first = decideForwarding(machine(true, { eth0: true, eth1: false }), { isRouter: true, guarded: [] })
  assert.deepEqual(first, { isRouter: true, guarded: ['eth1'], switchOn: ['eth1'] })
  assert.deepEqual(decideForwarding(machine(true, { eth0: true, eth1: true }), first).guarded, ['eth1'])
})
