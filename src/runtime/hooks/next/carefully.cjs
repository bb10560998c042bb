'use strict'
// An error in these files is the service's own fault, and no page may fail because of it. It is logged once.

let hasFailed = false

function say(line) {
  process.stderr.write(`headland: ${line}\n`)
}

/**
 * @template T
 * @param {() => T} act
 * @param {T} [otherwise]
 * @returns {T}
 */
function carefully(act, otherwise) {
  try {
    return act()
  } catch (error) {
    if (!hasFailed) say(`revalidations may not reach the edge: ${error}`)
    hasFailed = true
    return otherwise
  }
}

module.exports = { carefully, say, isUnderstood: () => !hasFailed }
