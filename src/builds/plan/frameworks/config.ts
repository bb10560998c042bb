/** The settings in a framework's configuration file and in the flags of the build script, with a sentence for each that was used. */

import { booleanIn, codeIn, importsIn, type Settings, settingsIn, stringIn } from '../project/config-text.ts'
import type { Project } from '../project/project.ts'
import { flagIn, wordsAfter } from '../project/script-arguments.ts'
import { buildScript } from '../project/scripts.ts'
import { configOf, folderInside } from './framework.ts'

export type ConfigFile = {
  /** The configuration file; undefined if there is none. */
  path: string | undefined
  /** The file without its comments. */
  code: string
  settings: Settings
  /** The module of each name that the file imports. */
  imports: ReadonlyMap<string, string>
  because: string[]
  /** A flag of the build script takes precedence over the configuration file, as in every tool. */
  string(setting: string, ...flags: string[]): string | undefined
  boolean(setting: string): boolean | undefined
  /** Whether the value cannot be read without running the file. */
  isComputed(setting: string): boolean
  /** Whether the build script has a flag. */
  hasFlag(flag: string): boolean
  /** A folder, relative to the root directory. */
  folder(setting: string, ...flags: string[]): string | undefined
}

/** `command` is the command whose flags are read, such as `vite build`. */
export function readConfigFile(
  project: Project,
  reads: readonly string[],
  command: string,
  script = buildScript(project),
): ConfigFile {
  const file = configOf(project, reads)
  const settings = settingsIn(file?.text ?? '')
  const words = wordsAfter(project, command, script) ?? []
  const because: string[] = []

  const flagOf = (flags: readonly string[]) => (flags.length === 0 ? undefined : flagIn(words, ...flags))

  function string(setting: string, ...flags: string[]): string | undefined {
    const given = flagOf(flags)
    const value = given ?? stringIn(settings, setting)
    if (value === undefined) return undefined
    const who = given === undefined ? `${file?.path} says ${setting}:` : `the script ${script} says ${flags[0]}`
    because.push(`${who} '${value}'`)
    return value
  }

  return {
    path: file?.path,
    code: codeIn(file?.text ?? ''),
    settings,
    imports: importsIn(file?.text ?? ''),
    because,
    string,
    boolean(setting) {
      const value = booleanIn(settings, setting)
      if (value !== undefined) because.push(`${file?.path} says ${setting}: ${value}`)
      return value
    },
    isComputed: (setting) =>
      settings.has(setting) && stringIn(settings, setting) === undefined && booleanIn(settings, setting) === undefined,
    hasFlag: (flag) => flagOf([flag]) !== undefined,
    folder(setting, ...flags) {
      const isFlag = flagOf(flags) !== undefined
      const value = string(setting, ...flags)
      const who = isFlag ? `the script ${script}` : (file?.path ?? 'a configuration')
      return value === undefined ? undefined : folderInside(value, who)
    },
  }
}
