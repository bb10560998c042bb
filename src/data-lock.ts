/** Takes the data folder for one service. */
import { mkdir } from 'node:fs/promises'
import { pollUntil, systemClock } from './base/index.ts'
import { Refused } from './contract/index.ts'
import { filesIn } from './data-files.ts'
import type { Role } from './settings.ts'
import { DataFolderInUse, lockDataFolder, refuseRestoring } from './storage/index.ts'

/** A service that was just killed may still be ending. */
const LOCK_WAIT = { pauseMs: 100, timeoutMs: 2000 }

/**
 * Takes the data folder for one service, which runs these roles; operators' commands need no lock. Returns the function that
 * releases it.
 */
export async function takeDataFolder(dataDir: string, roles: readonly Role[]): Promise<() => void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await refuseRestoring(dataDir)
  const held: (() => void)[] = []
  const release = () => {
    for (const one of held.splice(0)) one()
  }
  let refusal: Error | undefined
  const tryToLock = () => {
    try {
      for (const role of roles) held.push(lockDataFolder(dataDir, filesIn(dataDir).lockOf(role)))
      refusal = undefined
      return true
    } catch (error) {
      release()
      if (!(error instanceof DataFolderInUse)) throw error
      refusal = error
      return false
    }
  }
  await pollUntil(systemClock, tryToLock, LOCK_WAIT)
  if (refusal) throw new Refused(refusal.message)
  return release
}
