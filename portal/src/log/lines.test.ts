import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLines, type Line } from './lines.ts'
import { createTextReader, readTextLine } from './read-lines.ts'
import { createRows, isHeading } from './rows.ts'
import { createSearch, piecesOf } from './search.ts'

const line = (number: number, text = `line ${number}`, more: Partial<Line> = {}): Line => ({
  number,
  time: 0,
  stream: 'stdout',
  phase: 'BUILDING',
  text,
  ...more,
})
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => line(from + index))
const numbersOf = (lines: ReturnType<typeof createLines>) =>
  Array.from({ length: lines.count() }, (_, index) => lines.at(index)?.number)

test('a line that comes twice is taken once', () => {
  const lines = createLines()
  lines.append(range(1, 3))
  lines.append(range(2, 5))
  assert.deepEqual(numbersOf(lines), [1, 2, 3, 4, 5])
  assert.equal(lines.last(), 5)
})

test('beyond its bound a log loses its oldest lines and keeps its numbers', () => {
  const lines = createLines({ lines: 100, characters: 1_000_000 })
  lines.append(range(1, 101))
  assert.equal(lines.count(), 75)
  assert.deepEqual([lines.at(0)?.number, lines.last(), lines.dropped(), lines.generation()], [27, 101, 26, 1])
})

test('a few lines that are very long are bounded too', () => {
  const lines = createLines({ lines: 100, characters: 1000 })
  for (let number = 1; number <= 50; number++) lines.append([line(number, 'x'.repeat(100))])
  assert.ok(lines.count() <= 10)
  assert.equal(lines.last(), 50)
})

test('a line of text is read as it was written, spaces and all', () => {
  assert.deepEqual(readTextLine('12 2026-01-01T00:00:00.000Z BUILDING stderr   a  b '), {
    number: 12,
    time: Date.UTC(2026, 0, 1),
    phase: 'BUILDING',
    stream: 'stderr',
    text: '  a  b ',
  })
  assert.equal(readTextLine('7 2026-01-01T00:00:00.000Z - stdout ')?.phase, '')
  assert.equal(readTextLine('not a line'), undefined)
  assert.equal(readTextLine(''), undefined)
})

test('text that is cut anywhere gives whole lines', () => {
  const text = [1, 2, 3].map((number) => `${number} 2026-01-01T00:00:00.000Z - stdout text ${number}\n`).join('')
  for (let cut = 0; cut <= text.length; cut++) {
    const read: Line[] = []
    const take = createTextReader((lines) => read.push(...lines))
    take(text.slice(0, cut))
    take(text.slice(cut))
    assert.deepEqual(
      read.map((each) => each.text),
      ['text 1', 'text 2', 'text 3'],
      `cut at ${cut}`,
    )
  }
})

const shownOf = (rows: ReturnType<typeof createRows>) =>
  Array.from({ length: rows.count() }, (_, index) => {
    const row = rows.at(index)
    return row && isHeading(row) ? `# ${row.group}` : row?.number
  })

test('a heading stands where a phase begins, and is not repeated as lines come', () => {
  const lines = createLines()
  const rows = createRows(lines, { groupOf: ({ phase }) => phase })
  lines.append([line(1, 'a', { phase: 'INSTALLING' }), line(2, 'b', { phase: 'INSTALLING' })])
  rows.update()
  lines.append([line(3, 'c', { phase: 'INSTALLING' }), line(4, 'd')])
  rows.update()
  rows.update()
  assert.deepEqual(shownOf(rows), ['# INSTALLING', 1, 2, 3, '# BUILDING', 4])
  assert.equal(rows.indexOf(4), 5)
  assert.equal(rows.indexOf(1), 1)
  assert.equal(rows.indexOf(5), undefined)
})

test('only wanted lines are rows, and a line that is not has the place of the next', () => {
  const lines = createLines()
  lines.append([line(1), line(2, 'x', { stream: 'stderr' }), line(3), line(4, 'y', { stream: 'stderr' })])
  const rows = createRows(lines, { groupOf: () => '', isWanted: ({ stream }) => stream === 'stderr' })
  rows.update()
  assert.deepEqual(shownOf(rows), [2, 4])
  assert.equal(rows.indexOf(3), 1)
  assert.deepEqual([rows.has(3), rows.has(4)], [false, true])
})

test('rows and what was found in them are right after the oldest lines have gone', () => {
  const lines = createLines({ lines: 8, characters: 1000 })
  const rows = createRows(lines, { groupOf: ({ phase }) => phase })
  const search = createSearch(rows, 'line')
  lines.append(range(1, 8))
  rows.update()
  search.update()
  assert.equal(search.count(), 8)
  lines.append(range(9, 9))
  rows.update()
  search.update()
  assert.deepEqual(shownOf(rows), ['# BUILDING', 4, 5, 6, 7, 8, 9])
  assert.equal(search.count(), 6)
})

test('a search goes around, forward and back, and takes what it is given as text', () => {
  const lines = createLines()
  const rows = createRows(lines, { groupOf: () => '' })
  lines.append([line(1, 'Error: a.b'), line(2, 'axb'), line(3, 'A.B again'), line(4, 'none')])
  rows.update()
  const search = createSearch(rows, 'a.b')
  search.update()
  assert.equal(search.count(), 2)
  assert.deepEqual([search.next(0, 1), search.next(1, 1), search.next(3, 1)], [1, 3, 1])
  assert.deepEqual([search.next(3, -1), search.next(1, -1)], [1, 3])
  lines.append([line(5, '(a.b)')])
  rows.update()
  search.update()
  assert.deepEqual([search.count(), search.placeOf(5), search.placeOf(4)], [3, 3, 0])
})

test('pieces of a line are the line, and only what was looked for is marked', () => {
  const pieces = piecesOf('<b>ERR</b> err', 'err')
  assert.equal(pieces.map(({ text }) => text).join(''), '<b>ERR</b> err')
  assert.deepEqual(
    pieces.filter(({ isFound }) => isFound).map(({ text }) => text),
    ['ERR', 'err'],
  )
  const many = piecesOf('e'.repeat(8000), 'e')
  assert.equal(many.map(({ text }) => text).join('').length, 8000)
  assert.ok(many.length < 300, 'a line is not cut into thousands of pieces')
  assert.deepEqual(piecesOf('', 'x'), [{ text: '', isFound: false }])
})
