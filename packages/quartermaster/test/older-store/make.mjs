// Makes the store of this folder anew, with a checkout of an older version: node make.mjs CHECKOUT
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { DatabaseSync } from '@photostructure/sqlite'

const here = import.meta.dirname
const bin = join(process.argv[2], 'packages/quartermaster/dist/bin/quartermaster.js')
const cwd = mkdtempSync(join(tmpdir(), 'older-store-'))
cpSync(join(here, 'project'), cwd, { recursive: true })
const run = (...args) => spawnSync(process.execPath, [bin, ...args], { cwd, encoding: 'utf8' })
const ready = async isReady => {
  while (!isReady()) await pause(100)
}

const up = spawn(process.execPath, [bin, 'up', '--port', '0'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
for (const tool of ['write', 'stamp', 'pages_move_page']) await ready(() => run('tools', tool).status === 0)
const waiting = [
  ['write_file', 'path=note.txt', 'content=hello'],
  ...['publish', 'archive', 'remove', 'post'].map(tool => [tool, 'to=eve']),
  ['stamp', 'paper=visa'],
  ['pages_delete_page', 'page=home'],
]
for (const call of waiting) run('call', ...call)
const running = [...['carry', 'write', 'hand'].map(tool => [tool, 'to=eve']), ['pages_move_page', 'page=home']]
const calls = running.map(call => spawn(process.execPath, [bin, 'call', ...call], { cwd, stdio: 'ignore' }))
const begun = () =>
  existsSync(join(cwd, 'begun')) ? readFileSync(join(cwd, 'begun'), 'utf8').split('\n').length - 1 : 0
await ready(() => begun() === running.length)
up.kill('SIGKILL')
for (const call of calls) call.kill('SIGKILL')

const data = join(cwd, '.quartermaster')
const database = new DatabaseSync(join(data, 'store.db'))
database.exec(`vacuum into '${join(cwd, 'copy.db')}'`)
const made = database.prepare('select tool, state, definition_hash as hash from operations').all()
process.stdout.write(made.map(({ tool, state, hash }) => `${tool} ${state} ${hash}\n`).join(''))
writeFileSync(join(here, 'store.db.gz'), gzipSync(readFileSync(join(cwd, 'copy.db')), { level: 9 }))
copyFileSync(join(data, 'sealing-key'), join(here, 'sealing-key'))
rmSync(cwd, { recursive: true })
