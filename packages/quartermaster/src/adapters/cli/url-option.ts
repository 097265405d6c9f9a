import { Option } from 'commander'

/** Where persons ask who have no access to the data folder. */
export function urlOption(): Option {
  return new Option('--url <URL>', 'the "up" to ask, with a token of yours in QUARTERMASTER_TOKEN')
}
