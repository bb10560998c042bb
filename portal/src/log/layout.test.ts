import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLayout, linesOf } from './layout.ts'
import { createLines } from './lines.ts'
import { createRows } from './rows.ts'

function layoutOf(texts: readonly string[]) {
  const lines = createLines()
  const rows = createRows(lines, { groupOf: () => '' })
  const add = (more: readonly string[]) =>
    lines.append(
      more.map((text, index) => ({ number: lines.last() + index + 1, time: 0, stream: 'stdout', phase: '', text })),
    )
  add(texts)
  return { layout: createLayout(rows), rows, add }
}

test('without wrapping every row is one line, and a place is found in a hundred thousand', () => {
  const { layout } = layoutOf(Array.from({ length: 100_000 }, () => 'x'.repeat(200)))
  layout.update(0)
  assert.equal(layout.total(), 100_000)
  for (const index of [0, 1, 255, 256, 257, 50_000, 99_999]) {
    assert.equal(layout.topOf(index), index)
    assert.equal(layout.at(index), index)
    assert.equal(layout.at(index + 0.9), index)
  }
  assert.equal(layout.at(1e9), 99_999)
})

test('where lines wrap, tops and places agree for every row', () => {
  const texts = Array.from({ length: 1000 }, (_, index) => 'x'.repeat((index * 37) % 211))
  const { layout } = layoutOf(texts)
  layout.update(40)
  let top = 0
  for (const [index, text] of texts.entries()) {
    const height = Math.max(1, Math.ceil(text.length / 40))
    assert.equal(layout.topOf(index), top)
    assert.equal(layout.at(top), index)
    assert.equal(layout.at(top + height - 0.5), index)
    top += height
  }
  assert.equal(layout.total(), top)
})

test('a corrected height moves what stands below, and nothing above', () => {
  const { layout } = layoutOf(Array.from({ length: 600 }, () => 'x'))
  layout.update(10)
  assert.equal(layout.correct(300, 4), true)
  assert.equal(layout.correct(300, 4), false)
  assert.equal(layout.correct(10_000, 4), false)
  assert.deepEqual([layout.topOf(300), layout.topOf(301), layout.total()], [300, 304, 603])
  assert.deepEqual([layout.at(303), layout.at(304)], [300, 301])
})

test('rows that come are added; another width lays everything out anew', () => {
  const { layout, add } = layoutOf(['a'.repeat(30)])
  layout.update(10)
  assert.equal(layout.total(), 3)
  add(['b'.repeat(15)])
  assert.equal(layout.update(10), false)
  assert.equal(layout.total(), 5)
  assert.equal(layout.update(15), true)
  assert.equal(layout.total(), 3)
})

test('nothing has no height, and its place is the first', () => {
  const { layout } = layoutOf([])
  layout.update(80)
  assert.deepEqual([layout.total(), layout.at(0), layout.topOf(0)], [0, 0, 0])
})

test('tabs go to the next stop, and wide characters take two columns', () => {
  assert.equal(linesOf('a\tb', 9), 1)
  assert.equal(linesOf('a\tb', 8), 2)
  assert.equal(linesOf('日本語', 6), 1)
  assert.equal(linesOf('日本語', 5), 2)
  assert.equal(linesOf('✓ built in 2s', 13), 1)
  assert.equal(linesOf('', 80), 1)
})
