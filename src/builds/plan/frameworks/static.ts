/** Files that are served as they were uploaded. */
import type { Project } from '../project/project.ts'
import { buildScript } from '../project/scripts.ts'
import { type Framework, filesIn } from './framework.ts'
import { HOST_FILES, namedFolder } from './named-folder.ts'

/** The usual folders, the most likely first. */
export const STATIC_FOLDERS = ['.', 'public', 'dist', 'build', '_site', 'out']

/** Where an unknown build leaves them. The last one may exist before the build, with a template in it. */
export const BUILT_FOLDERS = ['dist', 'build', 'out', '_site', 'public'] as const

export const staticFiles: Framework = {
  name: 'static',
  reads: HOST_FILES,

  choose(project) {
    if (buildScript(project) !== undefined) return undefined
    const named = namedFolder(project)
    if (named !== undefined && named.folder !== '.' && hasFilesIn(project, named.folder))
      return { because: [named.because, withoutBuild(project)], output: filesIn(named.folder) }
    const folder = STATIC_FOLDERS.find((name) => project.files.has(name === '.' ? 'index.html' : `${name}/index.html`))
    if (folder === undefined) return undefined
    return {
      because: [`there is an index.html ${folder === '.' ? 'at the top' : `in ${folder}/`}`, withoutBuild(project)],
      output: filesIn(folder),
    }
  },
}

const hasFilesIn = ({ files }: Project, folder: string): boolean =>
  [...files].some((path) => path.startsWith(`${folder}/`))

const withoutBuild = ({ packageJson }: Project): string =>
  packageJson === undefined ? 'there is no package.json' : 'package.json has no script to build or start'
