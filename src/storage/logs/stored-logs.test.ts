import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Kind, openStoredLogs, storedLogsSuite } from '../../../test/suites/stored-logs.ts'
import { BUCKET, KEYS, startS3Server } from '../../../test/support/object-store/s3-server.ts'
import { StorageUnavailable } from '../sql/sql.ts'

storedLogsSuite('the small server of the tests', async (t) => {
  const { endpoint, region } = await startS3Server(t)
  return { endpoint, region, bucket: BUCKET, ...KEYS }
})

/** A store that can go away; requests are not sent again for long. */
async function setUp(t: TestContext, kind: Kind = 'files') {
  const server = await startS3Server(t)
  const store = { endpoint: server.endpoint, region: server.region, bucket: BUCKET, ...KEYS }
  const changes = { writeMs: 200, readMs: 60_000, pauseMs: 2 }
  return { server, ...(await openStoredLogs(t, { store, kind, changes })) }
}

test('while the store is away, no more than one closed part of a log waits on the disk', async (t) => {
  const { server, logs, moving, write, rotate, folder } = await setUp(t)
  await server.stop()
  for (const from of [1, 11, 21]) {
    await write('runtime/e', from, from + 9)
    await rotate('runtime/e')
    await write('runtime/e', from + 10, from + 11)
    await assert.rejects(moving.moveClosed('runtime/e'), StorageUnavailable)
    assert.equal((await logs.read('runtime/e', 0))[0]?.number, from)
  }
  assert.equal((await readdir(join(folder, 'runtime'))).length, 2)
  await server.startAgain()
  await moving.moveClosed('runtime/e')
  assert.deepEqual(await readdir(join(folder, 'runtime')), ['e.log'])
  assert.deepEqual(
    (await logs.read('runtime/e', 0)).map(({ number }) => number),
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
  )
})

for (const kind of ['files', 'rows'] as const) {
  test(`in ${kind}: a log stays readable while the store is away, and is moved when it is back`, async (t) => {
    const { server, logs, moving, write, isHere } = await setUp(t, kind)
    await write('builds/a', 1, 3)
    await server.stop()
    await assert.rejects(moving.moveWhole('builds/a'), StorageUnavailable)
    assert.equal((await logs.read('builds/a', 0)).length, 3)
    await server.startAgain()
    await moving.moveWhole('builds/a')
    assert.equal(await isHere('builds/a'), false)
    assert.equal((await logs.read('builds/a', 0)).length, 3)
  })

  test(`in ${kind}: reading a log whose only copy is in a store that is away is refused before the first line`, async (t) => {
    const { server, logs, moving, write, emptyCache } = await setUp(t, kind)
    await write('builds/a', 1, 3)
    await moving.moveWhole('builds/a')
    await emptyCache()
    await server.stop()
    await assert.rejects(logs.fetch('builds/a', 0), StorageUnavailable)
    // A reader that has all lines needs nothing of the store.
    await logs.fetch('builds/a', 3)
  })

  test(`in ${kind}: garbage collection removes what no log has any more, and nothing while a backup is made`, async (t) => {
    const { server, logs, moving, stored, blobs, write } = await setUp(t, kind)
    await write('builds/gone', 1, 3)
    await write('builds/kept', 1, 4)
    for (const log of ['builds/gone', 'builds/kept']) await moving.moveWhole(log)
    for (const object of server.objects.values()) object.time -= 60 * 60_000
    await logs.remove('builds/gone')
    assert.equal(await stored.collect(async () => true), 0)
    assert.equal(await stored.collect(async () => false), 1)
    assert.deepEqual(
      await blobs.list(),
      (await stored.of('builds/kept')).map(({ digest }) => digest),
    )
  })

  test(`in ${kind}: bytes that changed in the store are never shown as lines`, async (t) => {
    const { server, logs, moving, write, emptyCache } = await setUp(t, kind)
    await write('builds/a', 1, 3)
    await moving.moveWhole('builds/a')
    await emptyCache()
    for (const [key, object] of server.objects) if (/\/logs\//.test(key)) object.bytes = Buffer.from('forged')
    await assert.rejects(
      logs.read('builds/a', 0),
      /has other bytes under logs\/.* Restore an earlier version of that object\.$/,
    )
  })
}
