/** Settings as operators write them: every value is read as it is written, or refused with a sentence. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../test/support/fuzz.ts'
import { ConfigError, loadConfig, variableName } from './config.ts'
import { formatListen, SETTINGS } from './settings.ts'

function load(name: keyof typeof SETTINGS, value: string) {
  try {
    return loadConfig({ env: { [variableName(name)]: value }, folder: '/nowhere' }).config[name]
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.ok(error.message.startsWith(`${name} (from environment) is `), error.message)
    return error
  }
}

test('any text for any setting is taken or refused by name', async () => {
  const names = fc.constantFrom(...(Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]))
  const text = fc.oneof(
    fc.string({ maxLength: 30 }),
    nearly('0123456789.:/,[]ab'),
    fc.constantFrom('true', '0', '-1', '1e9', '٣', ' 1', '1 '),
  )
  await holds(
    fc.property(names, text, (name, value) => void load(name, value)),
    400,
  )
})

test('an address to listen on is read as it is written', async () => {
  const host = fc.oneof(
    fc.ipV4(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.domain(),
  )
  await holds(
    fc.property(host, fc.nat(70_000), (host, port) => {
      const found = load('listen', `${host}:${port}`)
      if (port > 65_535) return assert.ok(found instanceof ConfigError)
      // IPv6 with an IPv4 address at its end is not accepted.
      if (found instanceof ConfigError) return assert.match(host, /^\[.*\..*\]$/)
      assert.equal(formatListen(found as { host: string; port: number }), `${host}:${port}`)
    }),
    300,
  )
})

test('a number is a whole one above 0, and a range of addresses is one', async () => {
  await holds(
    fc.property(fc.oneof(fc.nat().map(String), nearly('0123456789+-.e')), (text) => {
      const found = load('concurrency', text)
      const isCount = /^\d+$/.test(text) && text[0] !== '0' && text.length <= 13
      assert.deepEqual(found instanceof ConfigError ? undefined : found, isCount ? Number(text) : undefined)
    }),
    300,
  )
  const range = fc.tuple(
    fc.oneof(fc.ipV4(), fc.ipV6(), nearly('0123456789.:')),
    fc.option(fc.nat(140), { nil: undefined }),
  )
  await holds(
    fc.property(fc.array(range, { maxLength: 3 }), (list) => {
      const text = list.map(([address, bits]) => (bits === undefined ? address : `${address}/${bits}`)).join(', ')
      const found = load('trustedProxies', text)
      const parts = text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
      const isRight = parts.every((part) => {
        const [address = '', bits = '0', ...rest] = part.split('/')
        return (
          rest.length === 0 && isIP(address) > 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128) && !/\D/.test(bits)
        )
      })
      assert.equal(found instanceof ConfigError, !isRight, text)
    }),
    300,
  )
})
