import { describe, expect, it } from 'vitest'
import { isLoopback } from '../../core/kernel/index.ts'
import { guardedLookup, leadsInside, refuseInside } from './index.ts'

describe('addresses that nobody named', () => {
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1%eth0',
    'ff02::1',
    'no address',
  ])('lead inside: %s', address => {
    expect(leadsInside(address)).toBe(true)
  })

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1'])('are public: %s', address => {
    expect(leadsInside(address)).toBe(false)
  })

  it.each(['127.0.0.1', '[::1]', new URL('http://0x7f.1/').hostname, new URL('http://2130706433/').hostname])(
    'are refused when written out: %s',
    host => {
      expect(() => refuseInside(host)).toThrow(/leads to an address inside/)
    },
  )

  it('are looked up once, by the connection itself', async () => {
    const answers = ['93.184.216.34', '127.0.0.1']
    const lookup = guardedLookup(async () => [{ address: answers.shift() ?? '', family: 4 }])
    const look = () =>
      new Promise((resolve, reject) =>
        lookup('x.example', {}, (error, address) => (error ? reject(error) : resolve(address))),
      )
    expect(await look()).toBe('93.184.216.34')
    await expect(look()).rejects.toThrow(/"x.example" leads/)
  })
})

describe('names of this machine', () => {
  it.each(['localhost', 'x.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])('%s', host => {
    expect(isLoopback(host)).toBe(true)
  })
  it.each(['localhost.example', '128.0.0.1', 'example.com'])('not %s', host => {
    expect(isLoopback(host)).toBe(false)
  })
})
