/** The overlay's marks. A machine without the program for them is an error that the operator can resolve. */
import { opaqueAmong as opaqueFolders, putMarks as put, TarMissing } from '../tar/index.ts'
import { BackupRefused } from './entry.ts'

export const opaqueAmong = (...args: Parameters<typeof opaqueFolders>) => opaqueFolders(...args).catch(refuse)

export const putMarks = (...args: Parameters<typeof put>) => put(...args).catch(refuse)

function refuse(error: unknown): never {
  if (error instanceof TarMissing) throw new BackupRefused(error.message, { cause: error })
  throw error
}
