import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowerAscii, trimBlanks } from './header-text.ts'

test('spaces and tabs are blanks, and no other character is', () => {
  assert.equal(trimBlanks(' \t a \t b\t '), 'a \t b')
  assert.equal(trimBlanks(' \t '), '')
  for (let code = 0; code <= 0xffff; code++) {
    const text = `${String.fromCharCode(code)}a${String.fromCharCode(code)}`
    assert.equal(trimBlanks(text), code === 0x20 || code === 0x09 ? 'a' : text)
  }
})

test('lower case is that of ASCII, and no other character changes', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const text = String.fromCharCode(code)
    const isLetter = code >= 0x41 && code <= 0x5a
    assert.equal(lowerAscii(text), isLetter ? String.fromCharCode(code + 32) : text)
    assert.equal(lowerAscii(`A${text}`), `a${isLetter ? String.fromCharCode(code + 32) : text}`)
  }
})
