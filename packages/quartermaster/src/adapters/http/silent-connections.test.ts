import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { expect, it } from 'vitest'
import { createSilentConnections } from './listen.ts'

function open() {
  const server = new EventEmitter()
  const silent = createSilentConnections(server as Server)
  const connect = () => {
    const socket = Object.assign(new EventEmitter(), { bytesRead: 0, isEnded: false, destroy: () => {} })
    socket.destroy = () => void (socket.isEnded = true)
    server.emit('connection', socket)
    return socket
  }
  return { ...silent, connect }
}

it('ends what says nothing, and nothing whose first words may be on their way', () => {
  const { connect, end } = open()
  const quiet = connect()
  const late = connect()
  end()
  const fresh = connect()
  expect([quiet, late, fresh].some(({ isEnded }) => isEnded)).toBe(false)
  late.bytesRead = 100
  end()
  expect([quiet, late, fresh].map(({ isEnded }) => isEnded)).toEqual([true, false, false])
  fresh.bytesRead = 100
  end()
  expect([late, fresh].some(({ isEnded }) => isEnded)).toBe(false)
})
