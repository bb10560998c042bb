/** Tools that need not be fetched: the Node that the service runs on, and the npm of the machine. */
import { realpath } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'

export type OwnNode = { version: string; binary: string }

export const ownNode = (): OwnNode => ({ version: process.version.slice(1), binary: process.execPath })

/** The `npm` that a shell would find, and the folder of its package. */
export async function findNpm(searchPath: string): Promise<{ program: string; root: string }> {
  for (const folder of searchPath.split(delimiter)) {
    const program = await realpath(join(folder, 'npm')).catch(absent)
    if (program?.endsWith('npm-cli.js')) return { program, root: dirname(dirname(program)) }
  }
  throw new Error('npm was not found in PATH. It comes with Node; install it, and start again.')
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR' && error.code !== 'EACCES') throw error
}
