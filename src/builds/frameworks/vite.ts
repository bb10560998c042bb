/** Vite by itself, with React, Vue, Svelte, Solid or nothing: files, and one page that finds its way by script. */
import { settingsIn, stringIn } from '../config-text.ts'
import type { Project } from '../project.ts'
import { buildCommand, buildScript, scriptText } from '../scripts.ts'
import { basePathOf, configOf, type Framework, firstDependencyOf, folderInside, rangeOf } from './framework.ts'
import { runsServer } from './node.ts'
import { BUILT_FOLDERS } from './static.ts'

const EXTENSIONS = ['js', 'mjs', 'ts', 'cjs', 'mts', 'cts']

/** Frameworks that build with Vite and leave something else behind than Vite does. */
const BUILT_ON_VITE = [
  '@analogjs/platform',
  '@builder.io/qwik-city',
  '@qwik.dev/router',
  '@react-router/dev',
  '@remix-run/dev',
  '@solidjs/start',
  '@sveltejs/kit',
  '@tanstack/react-start',
  '@tanstack/solid-start',
  'astro',
  'nuxt',
  'vike',
  'vinxi',
  'vitepress',
]

export const vite: Framework = {
  name: 'vite',
  reads: EXTENSIONS.map((extension) => `vite.config.${extension}`),

  choose(project) {
    const version = rangeOf(project, 'vite')
    if (version === undefined || firstDependencyOf(project, BUILT_ON_VITE) !== undefined || runsServer(project))
      return undefined
    const said = readConfig(project)
    return {
      version,
      because: ['package.json depends on vite', ...said.because],
      build: buildCommand(project) ?? { argv: ['node_modules/.bin/vite', 'build'] },
      output: {
        kind: 'static',
        folder: said.folder,
        candidates: said.isComputed ? BUILT_FOLDERS.filter((folder) => folder !== said.folder) : [],
        singlePage: true,
        basePath: said.basePath,
      },
      caches: { compile: ['node_modules/.vite', 'node_modules/.cache'], data: [] },
    }
  },
}

type Said = { folder: string; isComputed: boolean; basePath: string; because: string[] }

/** A flag of the build script wins over the configuration file, as it does in Vite. */
function readConfig(project: Project): Said {
  const script = buildScript(project) ?? ''
  const file = configOf(project, vite.reads)
  const settings = settingsIn(file?.text ?? '')
  const because: string[] = []

  function read(path: string, flag: string | undefined): string | undefined {
    const given = flag && flagIn(scriptText(project, script), flag)
    const value = given ?? stringIn(settings, path)
    const whoSays = given === undefined ? `${file?.path} says ${path}:` : `the script ${script} says --${flag}`
    if (value !== undefined) because.push(`${whoSays} '${value}'`)
    return value
  }

  const root = read('root', undefined)
  const outDir = read('build.outDir', 'outDir')
  const basePath = basePathOf(read('base', 'base') ?? '')
  const isComputed =
    (root === undefined && settings.has('root')) || (outDir === undefined && settings.has('build.outDir'))
  if (isComputed) because.push(`${file?.path} computes where the output goes, so it is looked for`)
  // Vite takes outDir from its root, which is another folder in some apps.
  const folder = isComputed
    ? 'dist'
    : folderInside(`${root ?? '.'}/${outDir ?? 'dist'}`, file?.path ?? `the script ${script}`)
  return { folder, isComputed, basePath, because }
}

const flagIn = (script: string, flag: string): string | undefined =>
  new RegExp(`\\bvite build\\b[^&|;]*\\s--${flag}(?:=|\\s+)['"]?([^\\s&|;'"]+)`).exec(script)?.[1]
