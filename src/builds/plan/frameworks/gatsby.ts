/** Gatsby: files. Its own server is only needed for pages that are rendered on request, and for functions. */
import { wordsAfter } from '../project/script-arguments.ts'
import { buildCommand, buildScript, installedCommand, scriptText } from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import { basePathOf, type Framework, filesIn, namesWith, rangeOf } from './framework.ts'

export const gatsby: Framework = {
  name: 'gatsby',
  reads: namesWith('gatsby-config', ['js', 'ts', 'mjs', 'cjs']),

  choose(project) {
    const version = rangeOf(project, 'gatsby')
    if (version === undefined) return undefined
    const config = readConfigFile(project, gatsby.reads, 'gatsby build')
    // Without one of these the prefix is not used.
    const hasPrefix =
      wordsAfter(project, 'gatsby build')?.includes('--prefix-paths') ||
      /\bPREFIX_PATHS=(?:true|1)\b/.test(scriptText(project, buildScript(project) ?? ''))
    const basePath = hasPrefix ? basePathOf(config.string('pathPrefix') ?? '') : ''
    const hasFunctions = [...project.files].some((path) => path.startsWith('src/api/'))
    return {
      version,
      because: [
        'package.json depends on gatsby',
        ...config.because,
        ...(hasFunctions ? ['src/api/ needs a server, which a script headland-start would name: gatsby serve'] : []),
      ],
      build: buildCommand(project) ?? installedCommand(project, 'gatsby', 'build'),
      output: filesIn('public', { basePath }),
      caches: {
        compile: ['.cache/webpack'],
        // Plugins store here how far they have read the CMS; kept without the content itself, they would not read it again.
        data: ['.cache/caches', '.cache/data', '.cache/redux', 'public/page-data', '.wordpress-cache'],
      },
      environment: { GATSBY_TELEMETRY_DISABLED: '1' },
    }
  },
}
