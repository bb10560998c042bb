/** Vite without a framework that builds on it: a single-page app. */
import type { Project } from '../project/project.ts'
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import {
  basePathOf,
  type Framework,
  filesIn,
  firstDependencyOf,
  folderInside,
  namesWith,
  rangeOf,
} from './framework.ts'
import { runsServer } from './node.ts'
import { BUILT_FOLDERS } from './static.ts'

/** Frameworks on Vite that have another output than Vite and are not supported here. */
const BUILT_ON_VITE = [
  '@analogjs/platform',
  '@builder.io/qwik-city',
  '@qwik.dev/router',
  '@tanstack/react-start',
  '@tanstack/solid-start',
  'vike',
  'vinxi',
]

export const vite: Framework = {
  name: 'vite',
  reads: namesWith('vite.config', ['js', 'mjs', 'ts', 'cjs', 'mts', 'cts']),

  choose(project) {
    const version = rangeOf(project, 'vite')
    if (version === undefined || firstDependencyOf(project, BUILT_ON_VITE) !== undefined || runsServer(project))
      return undefined
    const config = readSettings(project)
    return {
      version,
      because: ['package.json depends on vite', ...config.because],
      build: buildCommand(project) ?? installedCommand(project, 'vite', 'build'),
      output: filesIn(config.folder, {
        candidates: config.isComputed ? BUILT_FOLDERS.filter((folder) => folder !== config.folder) : [],
        singlePage: true,
        basePath: config.basePath,
      }),
      caches: { compile: ['node_modules/.vite', 'node_modules/.cache'], data: [] },
    }
  },
}

type Config = { folder: string; isComputed: boolean; basePath: string; because: string[] }

function readSettings(project: Project): Config {
  const { path, because, string, isComputed: isUnknown } = readConfigFile(project, vite.reads, 'vite build')
  const root = string('root')
  const outDir = string('build.outDir', '--outDir')
  const basePath = basePathOf(string('base', '--base') ?? '')
  const isComputed = isUnknown('root') || (outDir === undefined && isUnknown('build.outDir'))
  if (isComputed) because.push(`${path} computes where the output goes, so it is looked for`)
  // outDir is relative to Vite's root, which some apps change.
  const folder = isComputed ? 'dist' : folderInside(`${root ?? '.'}/${outDir ?? 'dist'}`, path ?? 'the build script')
  return { folder, isComputed, basePath, because }
}
