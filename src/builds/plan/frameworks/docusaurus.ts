/** Docusaurus: files. */
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import { basePathOf, type Framework, filesIn, namesWith, rangeOf } from './framework.ts'

export const docusaurus: Framework = {
  name: 'docusaurus',
  reads: namesWith('docusaurus.config', ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs']),

  choose(project) {
    const version = rangeOf(project, '@docusaurus/core')
    if (version === undefined) return undefined
    const config = readConfigFile(project, docusaurus.reads, 'docusaurus build')
    const folder = config.folder('', '--out-dir') ?? 'build'
    const basePath = basePathOf(config.string('baseUrl') ?? '')
    return {
      version,
      because: ['package.json depends on @docusaurus/core', ...config.because],
      build: buildCommand(project) ?? installedCommand(project, 'docusaurus', 'build'),
      output: filesIn(folder, { basePath }),
      caches: { compile: ['node_modules/.cache/webpack', 'node_modules/.cache/rspack'], data: ['.docusaurus'] },
    }
  },
}
