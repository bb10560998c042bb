/** Nuxt: a server in a folder of its own, or the files of `nuxt generate`. */

import type { Project } from '../project/project.ts'
import { wordsAfter } from '../project/script-arguments.ts'
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { basePathOf, type Choice, type Framework, filesIn, majorIn, namesWith, rangeOf } from './framework.ts'
import { nitroOutput, presetInScript, presetVariables } from './nitro.ts'
import { serve } from './serve.ts'

export const nuxt: Framework = {
  name: 'nuxt',
  reads: namesWith('nuxt.config', ['ts', 'js', 'mjs', 'mts', 'cjs', 'cts']),

  choose(project) {
    const version = rangeOf(project, 'nuxt')
    if (version === undefined) return undefined
    const config = readConfigFile(project, nuxt.reads, 'nuxt build')
    const isGenerated = generates(project)
    const isOld = majorIn(version) < 3
    const { because, ...result } = isOld ? oldOutput(project, config) : newOutput(project, config, isGenerated)
    return {
      version,
      because: [
        'package.json depends on nuxt',
        ...config.because,
        ...(isGenerated ? ['the build script generates files'] : []),
        ...because,
      ],
      build: buildCommand(project) ?? installedCommand(project, 'nuxt', 'build'),
      ...result,
      caches: {
        // In Nuxt 2 `.nuxt` is the built server.
        compile: isOld ? ['node_modules/.cache'] : ['node_modules/.cache/nuxt', 'node_modules/.cache/jiti', '.nuxt'],
        data: ['.data', '.nitro'],
      },
      environment: {
        NUXT_TELEMETRY_DISABLED: '1',
        ...presetVariables(result.output, !isOld && config.isComputed('nitro.preset')),
      },
    }
  },
}

type Result = Pick<Choice, 'build' | 'adapter' | 'output' | 'because'>

function newOutput(project: Project, config: ConfigFile, isGenerated: boolean): Result {
  const variable = presetInScript(project)
  return nitroOutput(project, {
    name: 'Nuxt',
    preset: variable ?? config.string('nitro.preset', '--preset'),
    isInScript: variable !== undefined || config.hasFlag('--preset'),
    folder: config.folder('nitro.output.dir'),
    basePath: basePathOf(config.string('app.baseURL') ?? ''),
    isGenerated,
    singlePage: config.boolean('ssr') === false,
  })
}

/** Nuxt 2 has a server that needs the installed packages. */
function oldOutput(project: Project, config: ConfigFile): Result {
  const basePath = basePathOf(config.string('router.base') ?? '')
  if (generates(project)) {
    const folder = config.folder('generate.dir') ?? 'dist'
    return { output: filesIn(folder, { basePath, singlePage: config.boolean('ssr') === false }), because: [] }
  }
  const start = installedCommand(project, 'nuxt', 'start')
  return serve(project, { folder: '.', start, isWritten: /^nuxt start$/, commands: ['nuxt'] })
}

function generates(project: Project): boolean {
  if (['nuxt generate', 'nuxi generate'].some((command) => wordsAfter(project, command) !== undefined)) return true
  return wordsAfter(project, 'nuxt build')?.includes('--prerender') ?? false
}
