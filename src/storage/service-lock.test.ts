import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { DataFolderInUse, lockDataFolder } from './service-lock.ts'

/** A process that takes the lock and keeps it. */
async function holder(t: Parameters<typeof temporaryFolder>[0], dataDir: string) {
  const module = new URL('./service-lock.ts', import.meta.url).href
  const program = `
    const { lockDataFolder } = await import(${JSON.stringify(module)})
    lockDataFolder(${JSON.stringify(dataDir)}, ${JSON.stringify(fileIn(dataDir))})
    console.log('locked')
    setInterval(() => undefined, 60_000)`
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

const fileIn = (dataDir: string) => join(dataDir, 'service.lock')

test('a data folder that another process holds is refused, with the id of that process', async (t) => {
  const dataDir = await temporaryFolder(t)
  const { pid } = await holder(t, dataDir)
  assert.throws(
    () => lockDataFolder(dataDir, fileIn(dataDir)),
    (error: Error) => error instanceof DataFolderInUse && error.message.includes(`(process ${pid})`),
  )
})

test('a process that was killed holds nothing any more', async (t) => {
  const dataDir = await temporaryFolder(t)
  const child = await holder(t, dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  lockDataFolder(dataDir, fileIn(dataDir))()
})

test('a released folder can be taken again', async (t) => {
  const dataDir = await temporaryFolder(t)
  lockDataFolder(dataDir, fileIn(dataDir))()
  lockDataFolder(dataDir, fileIn(dataDir))()
})
