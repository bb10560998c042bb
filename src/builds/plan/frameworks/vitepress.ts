/** VitePress: files, beside their Markdown sources in any folder of the app. */
import { posix } from 'node:path'
import type { Project } from '../project/project.ts'
import { wordsAfter } from '../project/script-arguments.ts'
import { installedCommand, namedBuild, runScript, scriptText } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { basePathOf, type Framework, filesIn, folderInside, rangeOf } from './framework.ts'

const CONFIG = /(?:^|\/)\.vitepress\/config(?:\/index)?\.[mc]?[jt]s$/
const MAX_CONFIGS = 10

export const vitepress: Framework = {
  name: 'vitepress',
  reads: [],
  readsBeside: (files) => configsIn(files),

  choose(project) {
    const version = rangeOf(project, 'vitepress')
    if (version === undefined) return undefined
    const script = scriptOf(project)
    // An app that has its documentation in VitePress.
    const isPage = project.files.has('index.html') && rangeOf(project, 'vite') !== undefined
    if (isPage && script !== 'build' && namedBuild(project) === undefined) return undefined

    const configs = configsIn(project.files)
    const [written = '-'] = (script && wordsAfter(project, 'vitepress build', script)) || []
    const named = written.startsWith('-') ? undefined : folderInside(written, `the script ${script}`)
    const source = named ?? (script === undefined ? sourceOf(configs[0]) : '.')
    const reads = configs.filter((path) => sourceOf(path) === source)
    const config = readConfigFile(project, reads, 'vitepress build', script)
    const outDir = config.folder('', '--outDir') ?? outDirOf(config, source)
    return {
      version,
      because: ['package.json depends on vitepress', ...config.because],
      build:
        script === undefined ? installedCommand(project, 'vitepress', 'build', source) : runScript(project, script),
      output: filesIn(outDir, { basePath: basePathOf(config.string('base', '--base') ?? '') }),
      caches: { compile: [posix.join(source, '.vitepress/cache'), 'node_modules/.vite'], data: [] },
    }
  },
}

const configsIn = (files: ReadonlySet<string>): string[] =>
  [...files].filter((path) => CONFIG.test(path)).slice(0, MAX_CONFIGS)

/** The folder that holds `.vitepress`. */
const sourceOf = (config = 'docs/.vitepress/config.ts'): string =>
  posix.dirname(config.replace(/\.vitepress\/.*$/, '.'))

/** Relative to the Markdown. */
const outDirOf = (config: ConfigFile, source: string): string =>
  folderInside(posix.join(source, config.string('outDir') ?? '.vitepress/dist'), config.path ?? '')

/** The script that builds the documentation: often not `build`, which then builds the documented software. */
function scriptOf(project: Project): string | undefined {
  const named = namedBuild(project)
  if (named !== undefined) return named
  if (wordsAfter(project, 'vitepress build', 'build') !== undefined) return 'build'
  const names = Object.keys(project.packageJson?.scripts ?? {})
  return names.find((name) => /\bvitepress build\b/.test(scriptText(project, name)))
}
