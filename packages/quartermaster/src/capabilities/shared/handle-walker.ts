import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Keeper } from './keeper.ts'
import type { Pinned, Walker } from './pinned.ts'

// open(2): a handle that only names the thing. It opens nothing, so that pipes do not block and devices do not stir,
// and of a link it names the link. Node has no constant for it; this is its value on every Linux that Node runs on.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_WRONLY, O_CREAT, O_EXCL } = constants

/**
 * Walks by handles, on Linux: `/proc/self/fd/N/name` is `name` in the folder behind handle N, wherever that folder's
 * path leads by now. Whatever is swapped in between check and use is therefore never reached.
 */
export function createHandleWalker(keeper: Keeper): Walker {
  async function pin(path: string, flags: number): Promise<Pinned> {
    const handle = keeper.keep(await open(path, O_PATH | flags))
    const stat = await handle.stat({ bigint: true })
    const self = `/proc/self/fd/${handle.fd}`
    return {
      stat,
      at: name => (name === undefined ? self : `${self}/${name}`),
      release: () => keeper.release(handle),
    }
  }
  return {
    root: path => pin(path, O_DIRECTORY),
    step: (folder, name) => pin(folder.at(name), O_NOFOLLOW),
    open: async (pinned, flags) => keeper.keep(await open(pinned.at(), flags | O_NONBLOCK | O_NOCTTY)),
    create: async (folder, name, mode) =>
      keeper.keep(await open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)),
    close: keeper.release,
    confirm: async () => {},
  }
}
