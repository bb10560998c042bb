/**
 * What a program finds in its environment because every login shell sets it. Yarn's own shell ends with an error at a script
 * that reads an unset `PWD`, and other tools ask for a terminal, a user or a language in the same way.
 */

/** A job may say otherwise. `dumb` is the terminal without colours and without a cursor that could be moved. */
const DEFAULTS = { USER: 'app', LOGNAME: 'app', SHELL: '/bin/sh', TERM: 'dumb', LANG: 'C.UTF-8' } as const

/** Those of a shell are true of the program at hand, and no value of a job takes their place. */
export function loginEnvironment(
  { OLDPWD: _, ...environment }: Readonly<Record<string, string>>,
  cwd: string,
): Record<string, string> {
  return { ...DEFAULTS, ...environment, PWD: cwd, SHLVL: '1' }
}
