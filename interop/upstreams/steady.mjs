// Loaded before a server that answers with the time of day, tells things at random and takes its time, so that two of them answer
// and tell the same, soon. What it takes in is kept in the file that is named in the address of this module.
import { appendFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Server } from 'node:net'
import { Readable } from 'node:stream'

globalThis.Date = class extends Date {
  toLocaleTimeString() {
    return '12:00:00 PM'
  }
}

Math.random = () => 0.5

// Where it only pretends to work; what is shorter or longer has another reason.
const soon = ms => (ms >= 1_000 && ms <= 5_000 ? ms / 10 : ms)
const { setInterval: every, setTimeout: after } = globalThis
globalThis.setTimeout = (run, ms, ...args) => after(run, soon(ms), ...args)
globalThis.setInterval = (run, ms, ...args) => every(run, soon(ms), ...args)

const file = new URL(import.meta.url).searchParams.get('heard')
const { push } = Readable.prototype
Readable.prototype.push = function (chunk, ...rest) {
  const isBody = this instanceof IncomingMessage
  if (file !== null && (isBody || this === process.stdin)) appendFileSync(file, chunk ?? '\n')
  return push.call(this, chunk, ...rest)
}

// It says which port it was told to take, and not which one it was given.
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once('listening', () => process.stderr.write(`It listens at port ${this.address().port}.\n`))
  return listen.apply(this, args)
}
