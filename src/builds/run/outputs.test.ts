import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { Problem } from '../../contract/index.ts'
import type { Digest } from '../../storage/index.ts'
import { digestOf } from './output-digest.ts'
import { createOutputs, DEFAULT_OUTPUT_LIMITS, type Keeping, type OutputLimits } from './outputs.ts'
import type { Size } from './untrusted-folder.ts'

/** A file's text, or where a link leads, or an empty folder. */
type Tree = Record<string, string | { link: string } | { program: string } | null>

const TREE: Tree = {
  'index.html': '<h1>',
  'assets/app.js': 'start()',
  'bin/run': { program: '#!/bin/sh' },
  current: { link: 'assets' },
  empty: null,
  'node_modules/left-pad/index.js': 'pad()',
}

const nothing = async () => undefined

async function storeOf(t: TestContext, limits: Partial<OutputLimits> = {}) {
  const top = await temporaryFolder(t)
  const folder = join(top, 'outputs')
  const outputs = createOutputs({ folder, limits: { ...DEFAULT_OUTPUT_LIMITS, ...limits } })
  await outputs.sweep()
  let count = 0

  /** A folder as a build leaves it. */
  async function built(tree: Tree | [string, Tree[string]][] = TREE): Promise<string> {
    const source = join(top, `work-${++count}`)
    await mkdir(source)
    for (const [name, content] of Array.isArray(tree) ? tree : Object.entries(tree)) {
      const path = join(source, name)
      await mkdir(content === null ? path : dirname(path), { recursive: true })
      if (content === null) continue
      if (typeof content === 'string') await writeFile(path, content)
      else if ('link' in content) await symlink(content.link, path)
      else await writeFile(path, content.program, { mode: 0o755 })
    }
    return source
  }

  const keep = async (
    files: string,
    owner: string,
    prepare: Keeping['prepare'],
    more: Omit<Keeping, 'prepare'> = {},
  ): Promise<Digest> => (await outputs.keep({ files }, owner, { prepare, ...more })).digest

  return {
    ...outputs,
    folder,
    built,
    keep,
    keepTree: async (tree?: Parameters<typeof built>[0]) => keep(await built(tree), 'mine', nothing),
    names: () => readdir(folder),
  }
}

test('a folder is taken from its place and kept as it is, under its digest', async (t) => {
  const outputs = await storeOf(t)
  const source = await outputs.built()
  const digest = await outputs.keep(source, 'mine', nothing)
  assert.match(digest, /^sha256:[0-9a-f]{64}$/)
  assert.equal(await outputs.has(digest), true)
  const files = outputs.filesOf(digest)
  assert.equal(await readFile(join(files, 'current/app.js'), 'utf8'), 'start()')
  assert.deepEqual(
    (await readdir(files)).toSorted(),
    Object.keys(TREE)
      .map((name) => name.split('/')[0])
      .toSorted(),
  )
  await assert.rejects(lstat(source), { code: 'ENOENT' })
})

test('the same content has the same digest, in whatever order and whenever it was written', async (t) => {
  const outputs = await storeOf(t)
  const first = await outputs.keepTree()
  await outputs.remove(first)
  const source = await outputs.built(Object.entries(TREE).toReversed())
  await utimes(join(source, 'index.html'), 1, 1)
  await utimes(join(source, 'assets'), 2, 2)
  assert.equal(await outputs.keep(source, 'mine', nothing), first)
})

const CHANGES: Record<string, Tree> = {
  'a changed byte': { ...TREE, 'index.html': '<h2>' },
  'a changed name': { ...omit('index.html'), 'index.htm': '<h1>' },
  'a file in another folder': { ...omit('assets/app.js'), 'assets/js/app.js': 'start()' },
  'a file that can be run': { ...TREE, 'assets/app.js': { program: 'start()' } },
  'a program that cannot be run any more': { ...TREE, 'bin/run': '#!/bin/sh' },
  'a link to another place': { ...TREE, current: { link: 'bin' } },
  'a file in the place of a link': { ...TREE, current: 'assets' },
  'an empty folder more': { ...TREE, tmp: null },
  'an empty file more': { ...TREE, robots: '' },
  'a file of a package with another size': { ...TREE, 'node_modules/left-pad/index.js': 'pad();' },
  'a file of a package with another name': {
    ...omit('node_modules/left-pad/index.js'),
    'node_modules/left-pad/main.js': 'pad()',
  },
}

function omit(name: string): Tree {
  return Object.fromEntries(Object.entries(TREE).filter(([key]) => key !== name))
}

for (const [what, tree] of Object.entries(CHANGES)) {
  test(`${what} changes the digest`, async (t) => {
    const outputs = await storeOf(t)
    assert.notEqual(await outputs.keepTree(tree), await outputs.keepTree(TREE))
  })
}

test('a change of the mode other than executable does not change the digest', async (t) => {
  const outputs = await storeOf(t)
  const source = await outputs.built()
  await chmod(join(source, 'index.html'), 0o640)
  assert.equal(await outputs.keep(source, 'mine', nothing), await outputs.keepTree())
})

test('a file of a package counts in full where visitors get the files themselves', async (t) => {
  const outputs = await storeOf(t)
  const tree = (content: string): Tree => ({ 'node_modules/lib/index.js': content })
  const keep = async (content: string, isServed: boolean) =>
    outputs.keep(await outputs.built(tree(content)), 'mine', nothing, { isServed })
  assert.notEqual(await keep('one', true), await keep('two', true))
  assert.equal(await keep('one', false), await keep('two', false))
})

test('a file of a package counts by its size, at whatever depth', async (t) => {
  const outputs = await storeOf(t)
  const tree = (content: string): Tree => ({ 'packages/web/node_modules/a/node_modules/b/index.js': content })
  assert.equal(await outputs.keepTree(tree('one')), await outputs.keepTree(tree('two')))
})

test('a name that is not UTF-8 is kept and counts', async (t) => {
  const outputs = await storeOf(t)
  const source = await outputs.built()
  await writeFile(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0x61, 0xff])]), '')
  assert.notEqual(await outputs.keep(source, 'mine', nothing), await outputs.keepTree())
})

test('an output that is kept twice is there once, and both builds give their folder away', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  const source = await outputs.built()
  const again = await outputs.keep(source, 'mine', () => assert.fail('it is prepared already'))
  assert.equal(again, digest)
  assert.deepEqual(await outputs.names(), [digest.slice('sha256:'.length)])
  await assert.rejects(lstat(source), { code: 'ENOENT' })
})

test('of two builds that keep the same output at the same time, the first to end is kept whole', async (t) => {
  const outputs = await storeOf(t)
  const both = { waiting: 0, ready: Promise.withResolvers<void>() }
  const prepare = async (_files: string, edgeFolder: string) => {
    await mkdir(edgeFolder)
    if (++both.waiting === 2) both.ready.resolve()
    await both.ready.promise
    await writeFile(join(edgeFolder, 'manifest'), 'whole')
  }
  const sources = [await outputs.built(), await outputs.built()]
  const [one, two] = await Promise.all(sources.map((source) => outputs.keep(source, 'mine', prepare)))
  assert.ok(one && one === two)
  assert.deepEqual(await outputs.names(), [one.slice('sha256:'.length)])
  assert.equal(await readFile(join(outputs.edgeFolderOf(one), 'manifest'), 'utf8'), 'whole')
  assert.equal(await readFile(join(outputs.filesOf(one), 'index.html'), 'utf8'), '<h1>')
})

test('what is prepared for the edge is seen together with the files, and not before', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keep(await outputs.built(), 'mine', async (files, edgeFolder) => {
    await mkdir(edgeFolder)
    await writeFile(join(edgeFolder, 'manifest'), await readFile(join(files, 'index.html')))
    assert.deepEqual(
      (await outputs.names()).filter((name) => !name.endsWith('.new')),
      [],
    )
  })
  assert.equal(await readFile(join(outputs.edgeFolderOf(digest), 'manifest'), 'utf8'), '<h1>')
})

test('an output that cannot be prepared leaves nothing, and can be kept later', async (t) => {
  const outputs = await storeOf(t)
  const fail = async (_files: string, edgeFolder: string) => {
    await mkdir(edgeFolder)
    throw new Error('the disk is full')
  }
  await assert.rejects(outputs.keep(await outputs.built(), 'mine', fail), /the disk is full/)
  assert.deepEqual(await outputs.names(), [])
  assert.equal(await outputs.has(await outputs.keepTree()), true)
})

const LIMITED: { what: string; measure: keyof OutputLimits; limit: number; tree: Tree }[] = [
  { what: 'too many files', measure: 'files', limit: 2, tree: { a: '', b: '', c: '' } },
  { what: 'too many folders and links', measure: 'files', limit: 2, tree: { a: null, b: { link: 'a' }, c: null } },
  { what: 'too many bytes', measure: 'bytes', limit: 4, tree: { a: 'xx', b: 'yyy' } },
]

for (const { what, measure, limit, tree } of LIMITED) {
  test(`an output with ${what} is refused and leaves nothing`, async (t) => {
    const outputs = await storeOf(t, { [measure]: limit })
    await assert.rejects(outputs.keepTree(tree), (error) => {
      assert.ok(error instanceof Problem)
      assert.deepEqual([error.reason, error.metadata], ['OUTPUT_TOO_LARGE', { what: measure, limit: String(limit) }])
      return true
    })
    assert.deepEqual(await outputs.names(), [])
  })
}

function countedReads() {
  const reads: string[] = []
  return {
    reads,
    async read(path: string) {
      reads.push(path)
      return ''
    },
  }
}

test('of an output with too many files none is read, however they lie in folders', async (t) => {
  const { built } = await storeOf(t)
  // Counted by folder, the first ones would be read before the last ones are known.
  const tree = Object.fromEntries(Array.from({ length: 20 }, (_, folder) => [`folder-${folder}/file`, 'content']))
  const folder = await built(tree)
  const { reads, read } = countedReads()
  const limits = { files: 39, bytes: 1000, isServed: true, read }
  await assert.rejects(digestOf([folder], 'mine', limits), { name: 'Problem', reason: 'OUTPUT_TOO_LARGE' })
  assert.deepEqual(reads, [])
  assert.equal((await digestOf([folder], 'mine', { ...limits, files: 40 })).files, 40)
  assert.equal(reads.length, 20)
  assert.ok(DEFAULT_OUTPUT_LIMITS.files < 400_000, 'so many empty files took minutes after the build')
})

test('empty files are never opened, and count as they always did', async (t) => {
  const { built } = await storeOf(t)
  const folder = await built({ a: '', 'b/c': '', d: 'x' })
  const { reads, read } = countedReads()
  const limits = { ...DEFAULT_OUTPUT_LIMITS, isServed: true }
  await digestOf([folder], 'mine', { ...limits, read })
  assert.deepEqual(reads, [join(folder, 'd')])
  const { digest } = await digestOf([folder], 'mine', limits)
  const nothing = hash('sha256', '')
  const lines = [
    `f ["a","-","${nothing}"]`,
    'd "b"',
    `f ["b/c","-","${nothing}"]`,
    `f ["d","-","${hash('sha256', 'x')}"]`,
  ]
  assert.equal(digest, `sha256:${hash('sha256', ['owner mine', 'folder', ...lines, ''].join('\n'))}`)
})

test('an output as large as it may be is kept', async (t) => {
  const outputs = await storeOf(t, { files: 2, bytes: 5 })
  assert.equal(await outputs.has(await outputs.keepTree({ a: 'xx', b: 'yyy' })), true)
})

for (const kind of ['link', 'file'] as const) {
  test(`a ${kind} in the place of the folder is no output`, async (t) => {
    const outputs = await storeOf(t)
    const elsewhere = await outputs.built()
    const source = `${elsewhere}-output`
    await (kind === 'link' ? symlink(elsewhere, source) : writeFile(source, ''))
    await assert.rejects(outputs.keep(source, 'mine', nothing), { name: 'Problem', reason: 'NO_OUTPUT' })
    assert.deepEqual(await outputs.names(), [])
  })
}

test('a sweep removes what a process that died left half-moved or half-removed, and nothing else', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  await mkdir(join(outputs.folder, `${'a'.repeat(64)}.1.old`))
  const death = Promise.withResolvers<void>()
  const kept = outputs.keep(await outputs.built({ a: 'x' }), 'mine', () => death.promise)
  const isDraft = (name: string) => name.endsWith('.new')
  while (!(await outputs.names()).some(isDraft)) await new Promise((resolve) => setImmediate(resolve))
  await outputs.sweep()
  assert.deepEqual(await outputs.names(), [digest.slice('sha256:'.length)])
  death.reject(new Error('over'))
  await assert.rejects(kept, /over/)
})

test('a sweep makes the folder when there is none', async (t) => {
  const outputs = await storeOf(t)
  await rm(outputs.folder, { recursive: true })
  await outputs.sweep()
  assert.equal((await lstat(outputs.folder)).isDirectory(), true)
})

test('an output that was removed is there no more', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  await outputs.remove(digest)
  assert.equal(await outputs.has(digest), false)
  assert.deepEqual(await outputs.names(), [])
})

test('what is not a digest has no place', async (t) => {
  const outputs = await storeOf(t)
  assert.throws(() => outputs.filesOf('sha256:../../etc'))
})

test('the same files of two environments are two outputs: no tenant can replace that of another', async (t) => {
  const outputs = await storeOf(t)
  const mine = await outputs.keep(await outputs.built(), 'mine', nothing)
  const theirs = await outputs.keep(await outputs.built(), 'theirs', nothing)
  assert.notEqual(mine, theirs)
})

test('an output is admitted with its bytes before it is kept, and not again', async (t) => {
  const outputs = await storeOf(t)
  const asked: number[] = []
  const admit = async ({ bytes, files }: Size) => void asked.push(bytes, files)
  for (let times = 0; times < 2; times++)
    await outputs.keep(await outputs.built({ a: 'xx', b: 'yyy' }), 'mine', nothing, { admit })
  assert.deepEqual(asked, [5, 2])
})

test('an output that is not admitted leaves nothing', async (t) => {
  const outputs = await storeOf(t)
  const admit = () => Promise.reject(new Problem('QUOTA_EXCEEDED'))
  await assert.rejects(outputs.keep(await outputs.built(), 'mine', nothing, { admit }), { reason: 'QUOTA_EXCEEDED' })
  assert.deepEqual(await outputs.names(), [])
})

test('what is recorded counts what the edge needs, however often the output is kept', async (t) => {
  const outputs = await storeOf(t)
  const recorded: unknown[] = []
  const prepare = async (_files: string, edgeFolder: string) => {
    await mkdir(edgeFolder)
    await writeFile(join(edgeFolder, 'manifest'), '1234567890')
  }
  const record = async (...what: unknown[]) => void recorded.push(what)
  const keep = async () => outputs.keep(await outputs.built({ a: 'xx' }), 'mine', prepare, { record })
  const digest = await keep()
  await keep()
  assert.deepEqual(recorded, [
    [digest, { bytes: 12, files: 2 }],
    [digest, { bytes: 12, files: 2 }],
  ])
  assert.equal((await outputs.sizeOf(digest)).bytes, 12)
})

test('an output that is kept again while it is being removed is there in the end', async (t) => {
  const outputs = await storeOf(t)
  for (let round = 0; round < 20; round++) {
    const needed = new Set<Digest>()
    const digest = await outputs.keepTree()
    const source = await outputs.built()
    const record = async (kept: Digest) => void needed.add(kept)
    await Promise.all([
      outputs.keep(source, 'mine', nothing, { record }),
      outputs.remove(digest, async (asked) => needed.has(asked)),
    ])
    assert.equal(await readFile(join(outputs.filesOf(digest), 'index.html'), 'utf8'), '<h1>')
  }
})

test('an output that is needed is not removed', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  assert.equal(await outputs.remove(digest, async () => true), false)
  assert.equal(await outputs.has(digest), true)
})

test('a collection removes outputs that are not needed, and no draft', async (t) => {
  const outputs = await storeOf(t)
  const [needed, unneeded] = [await outputs.keepTree({ a: 'x' }), await outputs.keepTree({ b: 'x' })]
  await mkdir(join(outputs.folder, `${unneeded.slice('sha256:'.length)}.1.new`))
  assert.equal(await outputs.collect(async (digest) => digest === needed), 1)
  assert.deepEqual(
    (await outputs.names()).sort(),
    [needed, `${unneeded}.1.new`].map((name) => name.slice('sha256:'.length)).sort(),
  )
})

test('an output is recorded before it is in place, so that it is not removed in between', async (t) => {
  const outputs = await storeOf(t)
  const seen: boolean[] = []
  const record = async (digest: Digest) => void seen.push(await outputs.has(digest))
  const digest = await outputs.keep(await outputs.built(), 'mine', nothing, { record })
  assert.deepEqual([seen, await outputs.has(digest)], [[false], true])
})

test('an output that another process removes while it is being recorded is put in place again', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  const other = createOutputs({ folder: outputs.folder, limits: DEFAULT_OUTPUT_LIMITS })
  let times = 0
  const record = async () => {
    if (++times === 1) await other.remove(digest)
  }
  await outputs.keep(await outputs.built(), 'mine', nothing, { record })
  assert.equal(await readFile(join(outputs.filesOf(digest), 'index.html'), 'utf8'), '<h1>')
})

test('an output that another process recorded while it was being removed is put back', async (t) => {
  const outputs = await storeOf(t)
  const digest = await outputs.keepTree()
  const answers = [false, true]
  assert.equal(await outputs.remove(digest, async () => answers.shift() === true), false)
  assert.equal(await readFile(join(outputs.filesOf(digest), 'index.html'), 'utf8'), '<h1>')
  assert.equal((await outputs.names()).length, 1)
})
