import { createSystemClock } from '../../system/index.ts'
import { createChildHerd } from '../stdio/child-herd.ts'
import { createChildLog } from '../stdio/child-log.ts'
import { openStdioChannel } from '../stdio/stdio-channel.ts'

// What a gateway does with children, as a process of its own that tests may kill. Its argument is a JSON text:
// { dataDir, servers: [[command, argument, …], …] }. It says "ready" and the reaper's number when all have answered.

const { dataDir, servers } = JSON.parse(process.argv[2] ?? '{}') as { dataDir: string; servers: string[][] }
const clock = createSystemClock()
const herd = createChildHerd({ clock, dataDir })

async function start([command = '', ...args]: string[]): Promise<void> {
  const log = createChildLog({ clock })
  const open = openStdioChannel({ command, args, env: {}, cwd: '/', clock, herd, log })
  const answered = new Promise<void>((resolve, reject) => {
    const events = { onMessage: () => resolve(), onEnd: ({ reason }: { reason: string }) => reject(new Error(reason)) }
    void open(events, new AbortController().signal)
      .then(channel => channel.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))
      .catch(reject)
  })
  await answered
}

await Promise.all(servers.map(start))
process.stdout.write(`ready ${herd.reaperPid()}\n`)
process.stdin.on('data', () => void herd.close().then(() => process.stdout.write('closed\n')))
