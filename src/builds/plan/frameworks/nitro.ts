/** Nitro, with which Nuxt and SolidStart build their servers: one self-contained folder, for one of many hosts. */
import { FILES, presetName, SERVERS } from '../../adapters/presets.ts'
import type { Command, ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { buildScript, installedCommand, isAlone, plainWords, scriptText } from '../project/scripts.ts'
import { aboutAdapter, canReplacePackages, presetEnvironment, presetInstead } from './foreign.ts'
import { type Choice, cannotRun, filesIn } from './framework.ts'
import { assetsIn, customStart, serve, serveByScript, serverIn } from './serve.ts'

/** Presets of other hosts that leave files: `vercel-static`. */
const FOREIGN_FILES = /-static$/
/** A path is a preset of the app itself, which cannot be replaced. */
const NAME = /^[a-z][a-z0-9-]{0,49}$/

export type Nitro = {
  /** The framework, for messages. */
  name: string
  preset: string | undefined
  /** Whether the build script sets the preset, which takes precedence over all variables. */
  isInScript: boolean
  /** The package of the plugin whose options may set the preset; they take precedence over variables too. */
  plugin?: string | undefined
  folder: string | undefined
  basePath: string
  /** Whether the build leaves files, whatever the preset. */
  isGenerated: boolean
  singlePage: boolean
}

type Result = Pick<Choice, 'build' | 'adapter' | 'because'> & { output: StaticOutput | ServerOutput }

export function nitroOutput(project: Project, nitro: Nitro): Result {
  const { preset, folder = '.output', basePath, isGenerated, singlePage } = nitro
  const kind = presetName(preset ?? 'node-server')
  const files = filesIn(`${folder}/public`, { basePath, singlePage })
  const isKnown = FILES.includes(kind) || SERVERS.includes(kind)
  if (FILES.includes(kind) || (isGenerated && isKnown)) return { output: files, because: [] }
  const own = { folder, start: { argv: ['node', 'server/index.mjs'] }, isWritten: OWN_START, client: 'public' }
  if (SERVERS.includes(kind)) return serve(project, own)
  const custom = isGenerated ? undefined : customStart(project, OWN_START)
  if (custom !== undefined) return serveByScript(project, custom)
  const isFiles = isGenerated || FOREIGN_FILES.test(kind)
  const instead = insteadOf(project, nitro, kind, isFiles ? 'static' : 'node-server')
  return { ...instead, output: isFiles ? files : serverIn(folder, own.start, assetsIn(own.client)) }
}

function insteadOf(project: Project, { name, isInScript, plugin }: Nitro, kind: string, by: string) {
  const build = isInScript ? buildWithoutPreset(project) : undefined
  const isPossible = NAME.test(kind) && (!isInScript || build) && (plugin === undefined || canReplacePackages(project))
  if (!isPossible)
    throw cannotRun(`${name} builds for ${kind}`, `Set the preset to 'node-server', or to 'static' for files alone.`)
  const adapter = presetInstead(kind, by, plugin)
  return { adapter, because: [aboutAdapter(adapter)], ...(build ? { build } : {}) }
}

const OWN_START = /^(?:node (?:\.\/)?\.output\/server\/index\.mjs|(?:nuxt|nuxi|vinxi) start)$/

/** `NITRO_PRESET=vercel` at the beginning of a script, and `--preset vercel` in it. */
const VARIABLES = /^(?:cross-env +)?(?:(?:NITRO_PRESET|SERVER_PRESET|NODE_ENV)=[\w-]+ +)+/
const FLAG = / --preset[ =][\w-]+/
const COMMANDS = ['nuxt', 'nuxi', 'vinxi']

/** The command of the build script without the preset; undefined where the script does more than call it. */
function buildWithoutPreset(project: Project): Command | undefined {
  const script = buildScript(project)
  if (script === undefined || !isAlone(project, script)) return undefined
  const words = plainWords(scriptText(project, script).replace(VARIABLES, '').replace(FLAG, ''))
  return words && COMMANDS.includes(words[0] ?? '') ? installedCommand(project, ...words) : undefined
}

/** Where the preset is computed, variables set it, so that the build leaves the expected output. */
export function presetVariables(output: Result['output'], isComputed: boolean): Record<string, string> {
  // An app that starts its own server may be made for any preset.
  if (!isComputed || output.folder === '.') return {}
  return presetEnvironment(output.kind === 'static' ? 'static' : 'node-server')
}

/** The preset that the build script sets by a variable. */
export const presetInScript = (project: Project): string | undefined =>
  /\b(?:NITRO|SERVER)_PRESET=([\w-]{1,50})/.exec(scriptText(project, buildScript(project) ?? ''))?.[1]
