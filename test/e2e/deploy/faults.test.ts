import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { rounds } from '../../support/long.ts'
import { nodeServer, page, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const ROUNDS = rounds({ short: 2, long: 50 })
const KILLS_IN_A_ROW = 3

test(`kill -9 of the service at ${ROUNDS} random points of a deploy: every acknowledged upload ends`, async (t) => {
  let service = await startService(t)
  const { dataDir } = service
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  const acknowledged: string[] = []
  let newest = ''

  for (let round = 0; round < ROUNDS; round++) {
    const version = `version ${round}`
    const asked = await upload(service, as, name, round % 2 ? page(version) : nodeServer(version)).catch(
      () => undefined,
    )
    if (asked?.status === 200) {
      acknowledged.push(asked.json.name)
      newest = version
    }
    await wait(Math.random() * 1500)
    await service.kill()
    service = await startService(t, { dataDir })
    // An operation during which the service is killed five times is abandoned, and on a busy machine one takes several
    // rounds.
    if (round % KILLS_IN_A_ROW === KILLS_IN_A_ROW - 1) {
      for (const operation of acknowledged) await untilDone(service, as, operation)
    }
  }

  for (const operation of acknowledged) {
    const done = await untilDone(service, as, operation)
    assert.ok(!done.error || reasonOf(done) === 'SUPERSEDED', JSON.stringify(done.error))
  }
  const { json } = await service.call(`/v1/${name}`, { as })
  assert.equal(json.reconciling, false)
  assert.ok((await siteAnswer(service, json.url)).text.includes(newest))

  const id = name.split('/').at(-1) ?? ''
  assert.deepEqual(await readdir(join(dataDir, 'environments', id, 'work')), [])
  assert.ok((await readdir(join(dataDir, 'outputs'))).every((folder) => !folder.endsWith('.new')))
  await service.stop()
  assert.deepEqual(await processesNaming(dataDir), [])
})

/** Processes of this machine whose arguments, mounts or folder lead into the data folder. */
async function processesNaming(folder: string): Promise<string[]> {
  const { readFile, readlink } = await import('node:fs/promises')
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')
    if (command.includes(folder) || mounts.includes(folder) || cwd.startsWith(folder))
      found.push(command.replaceAll('\0', ' '))
  }
  return found
}
