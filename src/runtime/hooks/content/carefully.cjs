'use strict'
// An error in these files is the service's own fault, and no page may fail because of it. It is logged once, and from then on no
// answer is described: what is not described is not kept.

let hasFailed = false

function say(line) {
  process.stderr.write(`headland: ${line}\n`)
}

/**
 * Calls `act` with what is given, which needs no closure where it is called often.
 * @template T
 * @param {(...given: any[]) => T} act
 * @param {any} [one]
 * @param {any} [other]
 * @param {any} [third]
 * @returns {T | undefined}
 */
function carefully(act, one, other, third) {
  if (hasFailed) return undefined
  try {
    return act(one, other, third)
  } catch (error) {
    hasFailed = true
    say(`the edge does not learn what pages are made of: ${error?.stack ?? error}`)
    return undefined
  }
}

module.exports = { carefully, say, isWorking: () => !hasFailed }
