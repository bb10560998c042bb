/** Copies of this checkout with other version numbers, which take over from a running service. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'

const TOP = fileURLToPath(new URL('../../..', import.meta.url))
const COPIED = ['bin', 'src', 'docs', 'portal', 'integrations', 'examples']

/** Returns its folder. */
export async function copyOf(t: Scope, version: string): Promise<string> {
  const folder = join(await temporaryFolder(t), 'headland')
  await mkdir(folder)
  for (const name of COPIED)
    await cp(join(TOP, name), join(folder, name), { recursive: true, filter: (from) => !from.includes('node_modules') })
  const manifest = JSON.parse(await readFile(join(TOP, 'package.json'), 'utf8'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }))
  await symlink(join(TOP, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

export const reload = (folder: string, { dataDir }: { dataDir: string }) =>
  promisify(execFile)(process.execPath, [join(folder, 'bin', 'headland'), 'reload'], {
    env: { PATH: process.env.PATH, HEADLAND_DATA_DIR: dataDir },
  })
