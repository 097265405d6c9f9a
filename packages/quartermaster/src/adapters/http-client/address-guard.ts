import { lookup as resolveName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** A private address that no configuration names. A `TypeError`, as every failure of a fetch is. */
export class AddressRefused extends TypeError {
  readonly host: string

  constructor(host: string) {
    super(`"${host}" leads to an address inside this machine or network, and the configuration does not name it.`)
    this.name = 'AddressRefused'
    this.host = host
  }
}

/** All addresses of a name, as `dns.lookup` finds them. */
export type Resolve = (host: string) => Promise<readonly Address[]>

/**
 * A lookup that refuses private addresses. The connection itself uses it, so a name cannot mean one address when it is checked and
 * another when it is used.
 */
export function guardedLookup(resolve: Resolve = resolveAll): LookupFunction {
  return async (host, options, callback) => {
    try {
      const addresses = await publicAddresses(host, resolve)
      if (options.all) callback(null, addresses)
      else callback(null, addresses[0].address, addresses[0].family)
    } catch (error) {
      callback(error as NodeJS.ErrnoException, '', 0)
    }
  }
}

type Address = { readonly address: string; readonly family: number }

/** One private address is enough to refuse a name, because we do not choose which address is used. */
async function publicAddresses(host: string, resolve: Resolve): Promise<[Address, ...Address[]]> {
  const [first, ...others] = await resolve(host)
  if (!first || [first, ...others].some(({ address }) => leadsInside(address))) throw new AddressRefused(host)
  return [first, ...others]
}

/** Throws `AddressRefused` for a literal private address, which no lookup would check. */
export function refuseInside(host: string): void {
  const address = host.replace(/^\[|\]$/g, '')
  if (isIP(address) && leadsInside(address)) throw new AddressRefused(host)
}

/** Whether an address is not public. Text that is no address counts as not public. */
export function leadsInside(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 0) return true
  return family === 4 ? INSIDE.ipv4.check(plain, 'ipv4') : INSIDE.ipv6.check(plain, 'ipv6')
}

/** IANA's special-purpose addresses that are not globally reachable, those that embed another one, and multicast. */
const INSIDE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Cloud metadata is in here.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The metadata service of Azure, which is in no private range.
  '168.63.129.16/32',
]
const INSIDE_V6 = [
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

// A list for each family, because an IPv4 address also matches the ranges of its IPv6 form.
const INSIDE = { ipv4: blockList(INSIDE_V4, 'ipv4'), ipv6: blockList(INSIDE_V6, 'ipv6') }

function blockList(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', bits] = range.split('/')
    list.addSubnet(net, Number(bits), family)
  }
  return list
}

const resolveAll: Resolve = host =>
  new Promise((resolve, reject) => {
    resolveName(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
