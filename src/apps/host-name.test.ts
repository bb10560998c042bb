import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWithin, readHostName } from './host-name.ts'

const READ: Record<string, string> = {
  'www.example.com': 'www.example.com',
  'WWW.Example.COM': 'www.example.com',
  'www.example.com.': 'www.example.com',
  'www.example.com。': 'www.example.com',
  'münchen.de': 'xn--mnchen-3ya.de',
  'mu\u0308nchen.de': 'xn--mnchen-3ya.de',
  'XN--MNCHEN-3YA.de': 'xn--mnchen-3ya.de',
  'ｅｘａｍｐｌｅ.com': 'example.com',
  'faß.de': 'xn--fa-hia.de',
  'пример.рф': 'xn--e1afmkfd.xn--p1ai',
  '4chan.org': '4chan.org',
  'r3---sn.example.com': 'r3---sn.example.com',
  'shop.internal': 'shop.internal',
}

for (const [given, name] of Object.entries(READ)) {
  test(`${JSON.stringify(given)} is ${name}`, () => assert.deepEqual(readHostName(given), { name }))
}

const LABEL = 'a'.repeat(63)

const REFUSED: [why: RegExp, names: string[]][] = [
  [/labels/, ['', '.', '..', ' ', 'a..com', '.example.com', 'example.com..', '-a.com', 'a-.com', 'a_b.com']],
  [/labels/, ['exa mple.com', 'a\tb.com', 'a\nb.com', 'a%41.com', 'a\u0000b.com', 'a,b.com', "a'b.com", 'a;b.com']],
  [/labels/, [`${LABEL}a.com`, '\u200d.com', 'a\u00a0b.com', '℀.com', '\ud800.com', 'xn--mnchen-3ya-.de']],
  [/alone/, ['https://example.com', 'example.com:80', 'example.com/', 'example.com?', 'example.com#', 'u@example.com']],
  [/alone/, ['exa\\mple.com', ':80', '[::1]:80']],
  [/dot/, ['example', 'localhost', 'com.', 'xn--mnchen-3ya']],
  [
    /address/,
    [
      '127.0.0.1',
      '::1',
      '[::1]',
      '1.2.3',
      '0x7f.1',
      '１.２.３.４',
      '2130706433.1',
      'foo.1',
      'foo.0x',
      '10',
      '1.2.3.4.',
    ],
  ],
  [/wildcards/, ['*', '*.example.com', 'www.*.com']],
  [/Punycode/, ['xn--a.de', 'xn--abc-a.de', 'www.xn--zzzzzz.de']],
  [/253/, [`${`${LABEL}.`.repeat(4)}com`, `${'ü.'.repeat(40)}com`.repeat(3)]],
]

for (const [why, names] of REFUSED) {
  for (const name of names) {
    test(`${JSON.stringify(name)} is refused, and the words say why: ${why.source}`, () => {
      const found = readHostName(name)
      assert.ok('wrong' in found, JSON.stringify(found))
      assert.match(found.wrong, why)
    })
  }
}

test('the longest name that DNS can hold is taken, and one byte more is not', () => {
  const longest = `${`${LABEL}.`.repeat(3)}${'a'.repeat(57)}.com`
  assert.equal(longest.length, 253)
  assert.deepEqual(readHostName(longest), { name: longest })
  assert.deepEqual(readHostName(`${longest}.`), { name: longest })
  assert.ok('wrong' in readHostName(`a${longest}`))
})

test('what has been read is read as itself', () => {
  for (const name of Object.values(READ)) assert.deepEqual(readHostName(name), { name })
})

test('a name is within itself and what it stands below, and not within what only ends alike', () => {
  assert.ok(isWithin('example.com', 'example.com'))
  assert.ok(isWithin('a.b.example.com', 'example.com'))
  assert.ok(!isWithin('notexample.com', 'example.com'))
  assert.ok(!isWithin('example.com', 'www.example.com'))
})
