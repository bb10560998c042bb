'use strict'
// What was revalidated in this environment by others than this process: by an earlier process, by the deployment that runs
// beside it, or by a purge. Next.js keeps that in the memory of one process. The service keeps it for good, in a file beside
// this one that it replaces as a whole. One stat() of the file for each read of the cache is all it costs, so whatever is in
// the file counts from the very next request on. On another machine than the service's there is no such file: remote.cjs.
const fs = require('node:fs')
const path = require('node:path')

const FILE = path.join(__dirname, 'expiries.json')
/** `blind`: the time in which this process made entries without knowing what was revalidated. */
const NEVER = { from: 0, until: 0 }
const NOTHING = { began: 0, ended: 0, everything: 0, newest: 0, isReplaced: false, tags: new Map(), blind: NEVER }

/** @param {string} [file] */
function lookAt(file = FILE) {
  let [ino, mtimeMs, size] = [0, 0, 0]
  let current = NOTHING

  return () => {
    const found = fs.statSync(file, { throwIfNoEntry: false })
    if (found === undefined) return NOTHING
    if (found.ino === ino && found.mtimeMs === mtimeMs && found.size === size) return current
    current = read(fs.readFileSync(file, 'utf8'))
    ;({ ino, mtimeMs, size } = found)
    return current
  }
}

/** @param {() => typeof NOTHING} look */
function createExpiries(look = lookAt()) {
  return {
    /** Whether another deployment is about to replace this one, and has to know which pages were made meanwhile. */
    isReplaced: () => look().isReplaced,

    /** The time of the last revalidation. */
    newest: () => look().newest,

    /**
     * - `expired`: it was revalidated after it was made, so it must not be served any more;
     * - `built`: the build made it. It may be served while it is made anew;
     * - `fresh`: neither of them.
     *
     * What a build has made counts as made when the build began: what it is made of was read some time after that.
     *
     * @param {number | undefined} lastModified
     * @param {() => readonly string[]} tagsOf encoded as in the file
     */
    judge(lastModified, tagsOf) {
      if (!(lastModified > 0)) return 'fresh'
      const { began, ended, everything, newest, tags, blind } = look()
      const isBuilt = lastModified <= ended
      const made = isBuilt ? Math.min(began, lastModified) : lastModified
      if (everything >= made || (lastModified >= blind.from && lastModified <= blind.until)) return 'expired'
      if (newest >= made && tagsOf().some((tag) => (tags.get(tag) ?? 0) >= made)) return 'expired'
      return isBuilt ? 'built' : 'fresh'
    },

    /** Whether a path was revalidated after the build began. */
    isExpiredSinceBuild(tagsOf) {
      const { began } = look()
      return began > 0 && this.judge(began, tagsOf) === 'expired'
    },
  }
}

function read(text) {
  const { began = 0, ended = 0, everything = 0, isReplaced = false, tags = {} } = JSON.parse(text)
  const times = new Map(Object.entries(tags))
  const newest = [...times.values()].reduce((one, other) => Math.max(one, other), everything)
  return { began, ended, everything, newest, isReplaced, tags: times, blind: NEVER }
}

module.exports = { createExpiries, read }
