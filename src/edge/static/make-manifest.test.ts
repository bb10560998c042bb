import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { Problem } from '../../contract/index.ts'
import { makeManifest } from './make-manifest.ts'
import { MANIFEST_NAME, openManifestFile } from './manifest-file.ts'

test('small sites and large ones get the same list, here or in a thread', async (t) => {
  for (const count of [10, 3000]) {
    const [folder, edge] = [await temporaryFolder(t), join(await temporaryFolder(t), 'edge')]
    for (let n = 0; n < count; n++) await writeFile(join(folder, `p${n}.html`), `page ${n}`)
    await makeManifest(folder, edge, { singlePage: true, basePath: '/docs' })
    const file = await openManifestFile(join(edge, MANIFEST_NAME))
    assert.deepEqual(file.settings, { singlePage: true, notFound: null, basePath: '/docs' })
    for (let n = 0; n < count; n += 7) assert.equal((await file.find(`/docs/p${n}.html`))?.size, `page ${n}`.length)
    assert.equal(await file.find(`/docs/p${count}.html`), undefined)
    await file.close()
  }
})

test('files and folders whose names are no text are left out', async (t) => {
  const [folder, edge] = [await temporaryFolder(t), join(await temporaryFolder(t), 'edge')]
  await writeFile(join(folder, 'index.html'), 'page')
  await mkdir(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xfd])]))
  await makeManifest(folder, edge, { singlePage: false })
  const file = await openManifestFile(join(edge, MANIFEST_NAME))
  assert.equal((await file.find('/index.html'))?.size, 4)
  await file.close()
})

test('a site of very many files does not block the process while it is listed', async (t) => {
  const [folder, edge] = [await temporaryFolder(t), join(await temporaryFolder(t), 'edge')]
  for (let group = 0; group < 4; group++) {
    await mkdir(join(folder, String(group)))
    await Promise.all(Array.from({ length: 1000 }, (_, n) => writeFile(join(folder, String(group), `${n}.html`), '')))
  }
  const [here, all] = [process.threadCpuUsage(), process.cpuUsage()]
  await makeManifest(folder, edge, { singlePage: false })
  const [mine, whole] = [process.threadCpuUsage(here), process.cpuUsage(all)]
  // The list is made by another thread: this one has little to do with it.
  assert.ok(mine.user < whole.user / 2, `${mine.user} of ${whole.user} µs`)
  const file = await openManifestFile(join(edge, MANIFEST_NAME))
  assert.equal((await file.find('/3/999.html'))?.size, 0)
  await file.close()
})

test('what cannot be listed is a problem of the output, here and in a thread', async (t) => {
  const options = { singlePage: false, basePath: `/${'a'.repeat(10_000)}` }
  for (const count of [1, 2100]) {
    const [folder, edge] = [await temporaryFolder(t), join(await temporaryFolder(t), 'edge')]
    for (let n = 0; n < count; n++) await writeFile(join(folder, `${n}.txt`), '')
    const made = makeManifest(folder, edge, options)
    await assert.rejects(made, (error) => error instanceof Problem && error.reason === 'OUTPUT_TOO_LARGE')
  }
})
