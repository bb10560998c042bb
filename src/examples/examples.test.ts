import assert from 'node:assert/strict'
import { chmod, mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { declaredFiles } from '../../test/support/zip-reader.ts'
import { Problem } from '../contract/index.ts'
import { createExamples } from './examples.ts'

test('every example of the list is an archive of its sources, without what only the tests read', async () => {
  const examples = createExamples()
  const list = await examples.list()
  assert.deepEqual(
    list.map(({ name }) => name),
    ['examples/welcome', 'examples/node-server'],
  )
  for (const { name, files, bytes } of list) {
    const zip = await examples.archive(name.replace('examples/', ''))
    const found = await declaredFiles(zip)
    const paths = Object.keys(found).filter((path) => !path.endsWith('/'))
    assert.equal(zip.length, bytes)
    assert.equal(paths.length, files)
    assert.ok(found['package.json']?.includes('"scripts"'), name)
    assert.equal(found['expect.json'], undefined)
  }
})

test('an archive is the same bytes whenever and wherever it is packed', async (t) => {
  const [one, other] = await Promise.all(
    [0, 1].map(async (at) => {
      const folder = await temporaryFolder(t)
      for (const id of ['welcome', 'node-server']) {
        await mkdir(join(folder, id, 'src'), { recursive: true })
        for (const path of at === 0 ? ['b', 'a', 'src/c'] : ['src/c', 'a', 'b']) {
          const file = join(folder, id, path)
          await writeFile(file, path.repeat(100))
          await utimes(file, at * 1e6, at * 1e6)
          await chmod(file, at === 0 ? 0o600 : 0o644)
        }
      }
      return createExamples({ folder }).archive('welcome')
    }),
  )
  assert.deepEqual(one, other)
})

test('a name that is not offered is an example that does not exist, whatever it looks like', async () => {
  const examples = createExamples()
  for (const id of ['nothing', 'next', '..', '__proto__', 'toString', 'welcome/src'])
    await assert.rejects(examples.archive(id), (error) => {
      assert.ok(error instanceof Problem)
      assert.equal(error.reason, 'EXAMPLE_NOT_FOUND')
      return true
    })
})

test('a folder with more than an example has is refused, and is read again at the next request', async (t) => {
  const folder = await temporaryFolder(t)
  for (const id of ['welcome', 'node-server']) await mkdir(join(folder, id))
  const examples = createExamples({ folder })
  await writeFile(join(folder, 'welcome', 'large'), Buffer.alloc(300 * 1024))
  await assert.rejects(examples.archive('welcome'), /has 307200 bytes/)
  await writeFile(join(folder, 'welcome', 'large'), 'small')
  assert.deepEqual(await declaredFiles(await examples.archive('welcome')), { large: 'small' })
})
