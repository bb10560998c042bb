/** Files that are served as they are: somebody wrote or built them before. */
import { buildScript } from '../project/scripts.ts'
import { type Framework, filesIn } from './framework.ts'

/** Where people keep them, the likeliest first. */
export const STATIC_FOLDERS = ['.', 'public', 'dist', 'build', '_site', 'out']

/** Where a build of unknown making leaves them. Last comes the one that may be there before, with a template in it. */
export const BUILT_FOLDERS = ['dist', 'build', 'out', '_site', 'public'] as const

export const staticFiles: Framework = {
  name: 'static',
  reads: [],

  choose(project) {
    if (buildScript(project) !== undefined) return undefined
    const folder = STATIC_FOLDERS.find((name) => project.files.has(name === '.' ? 'index.html' : `${name}/index.html`))
    if (folder === undefined) return undefined
    return {
      because: [
        `there is an index.html ${folder === '.' ? 'at the top' : `in ${folder}/`}`,
        project.packageJson === undefined ? 'there is no package.json' : 'package.json has no script to build or start',
      ],
      output: filesIn(folder),
    }
  },
}
