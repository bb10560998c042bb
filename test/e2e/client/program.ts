/** `headland mcp` in a folder of a project, as the client of an agent starts it. */
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { EXAMPLES } from '../../support/service/examples.ts'
import { as, service } from './service.ts'

const HEADLAND = join(import.meta.dirname, '../../../bin/headland')

export const home = await temporaryFolder({ after })
const project = join(home, 'project')
await cp(join(EXAMPLES, 'node-server'), project, { recursive: true })
await mkdir(join(home, 'secret'))
await writeFile(join(home, 'secret', 'index.html'), 'not to be sent')
await symlink(join(home, 'secret'), join(project, 'link'))
await writeFile(join(project, '.headlandignore'), 'link\n')
const names = { account: 'default', app: 'shop', environment: 'Production' }
await writeFile(join(project, '.headland.json'), JSON.stringify(names))

export const environmentOf = ({ userId, password } = as): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  HEADLAND_URL: service.api,
  HEADLAND_API_USER: userId,
  HEADLAND_API_PASSWORD: password,
})
export const program = { command: process.execPath, args: [HEADLAND, 'mcp'], cwd: project }
