/** Remix 2 on Vite, and Remix with its earlier compiler. */
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import { type Framework, majorIn, namesWith, rangeOf } from './framework.ts'
import { outputOf, serveBy } from './react-router.ts'

const OLD_CONFIGS = namesWith('remix.config', ['js', 'mjs', 'cjs'])
const VITE_CONFIGS = namesWith('vite.config', ['ts', 'js', 'mjs', 'mts'])

export const remix: Framework = {
  name: 'remix',
  reads: [...OLD_CONFIGS, ...VITE_CONFIGS],

  choose(project) {
    const version = rangeOf(project, '@remix-run/dev')
    if (version === undefined) return undefined
    const isOnVite = VITE_CONFIGS.some((name) => project.files.has(name))
    const config = readConfigFile(project, isOnVite ? VITE_CONFIGS : OLD_CONFIGS, 'remix vite:build')
    const oldEntry = majorIn(version) < 2 ? 'build' : 'build/index.js'
    const { output, because } = isOnVite
      ? outputOf(project, config, 'plugins.', '@remix-run/serve')
      : serveBy(project, '@remix-run/serve', config.string('serverBuildPath') ?? oldEntry)
    return {
      version,
      because: ['package.json depends on @remix-run/dev', ...config.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, 'remix', isOnVite ? 'vite:build' : 'build'),
      output,
      caches: { compile: ['node_modules/.vite', 'node_modules/.cache', '.cache'], data: [] },
    }
  },
}
