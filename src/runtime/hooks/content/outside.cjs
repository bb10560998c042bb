'use strict'
// Where content may come from that no request can be named for: what is fetched while no request is answered, other sockets
// (databases, key-value stores), other threads, other programs. From then on an answer may be made of it, so none is kept.
const { AsyncLocalStorage } = require('node:async_hooks')
const { ChildProcess } = require('node:child_process')
const diagnostics = require('node:diagnostics_channel')
const http = require('node:http')
const net = require('node:net')
const threads = require('node:worker_threads')
const { carefully } = require('./carefully.cjs')

const SHARED = 'headland-content'
/** What is true of all threads of the process, by place: something was fetched outside; threads that load these files. */
const [FETCHED, LOADED] = [0, 1]

/** The visit that code runs for. */
const current = new AsyncLocalStorage()

let shared = new Int32Array(new SharedArrayBuffer(8))
let startedThreads = 0
/** @type {string | undefined} */
let reason
/** Connections of this thread to others that are neither of `http` nor of undici. */
const others = new Set()

function watchOutside() {
  if (threads.isMainThread) threads.setEnvironmentData(SHARED, shared)
  else {
    shared = threads.getEnvironmentData(SHARED) ?? shared
    Atomics.add(shared, LOADED, 1)
  }
  diagnostics.subscribe('worker_threads', () => {
    startedThreads++
  })
  watchSockets()
  watchPrograms()
}

function watchSockets() {
  const { connect } = net.Socket.prototype
  net.Socket.prototype.connect = function connectWatched(...given) {
    carefully(() => {
      others.add(this)
      this.once('close', () => {
        noteIfOther(this)
        others.delete(this)
      })
    })
    return connect.apply(this, given)
  }
  const { onSocket } = http.ClientRequest.prototype
  http.ClientRequest.prototype.onSocket = function onSocketWatched(...given) {
    carefully(() => adopt(given[0]))
    return onSocket.apply(this, given)
  }
  diagnostics.subscribe('undici:client:connected', ({ socket }) => carefully(() => adopt(socket)))
}

/** Until a handshake is done, it is not known whose connection it is. */
function noteIfOther(socket) {
  if (others.has(socket) && socket.bytesRead > 0 && socket.secureConnecting !== true) noteOutside('other-source')
}

/** What passes over this connection is seen as exchanges. */
function adopt(socket) {
  if (!socket) return
  others.delete(socket)
  // TLS through a proxy runs in another connection.
  if (socket._parent) others.delete(socket._parent)
}

/** A program that is started for a visit, or that sends messages, may hand over content. The workers of a cluster answer on their own. */
function watchPrograms() {
  const { spawn } = ChildProcess.prototype
  ChildProcess.prototype.spawn = function spawnWatched(options) {
    carefully(() => {
      const isWorker = (options?.envPairs ?? []).some((pair) => String(pair).startsWith('NODE_UNIQUE_ID='))
      const isTalking = [options?.stdio].flat().includes('ipc')
      if (current.getStore() !== undefined || (isTalking && !isWorker)) noteOutside('other-program')
    })
    return spawn.call(this, options)
  }
}

/** @param {string} why one word */
function noteOutside(why) {
  reason ??= why
  Atomics.store(shared, FETCHED, 1)
}

/** @returns {string | undefined} */
function reasonOutside() {
  if (reason === undefined) {
    for (const socket of others) noteIfOther(socket)
    if (startedThreads > 0 && Atomics.load(shared, LOADED) < startedThreads) noteOutside('other-thread')
    else if (Atomics.load(shared, FETCHED) === 1) reason ??= 'other-thread'
  }
  return reason
}

module.exports = { current, watchOutside, noteOutside, reasonOutside }
