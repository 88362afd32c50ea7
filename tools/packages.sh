# shellcheck shell=bash
# What the scripts need from Debian: sourced by ./run and ./test.
#
#   need_command meson meson           a command, and the packages that bring it
#   need_module cmocka libcmocka-dev   a pkg-config module
#   need_file '/usr/include/stdio.h' libc6-dev
#   install_needed                     asks apt for what is missing; asks nobody if nothing is

needed=()

need_command() {
    command -v "$1" >/dev/null 2>&1 || needed+=("${@:2}")
}

need_module() {
    pkg-config --exists "$1" >/dev/null 2>&1 || needed+=("${@:2}")
}

# The file may be a pattern.
need_file() {
    compgen -G "$1" >/dev/null || needed+=("${@:2}")
}

# What it takes to build the program and the library.
need_for_build() {
    need_command cc gcc
    need_file '/usr/include/stdio.h' libc6-dev
    need_command meson meson
    need_command ninja ninja-build
    need_command pkg-config pkgconf
    need_command scdoc scdoc
    need_command python3 python3
    need_module yaml-0.1 libyaml-dev
    need_module libmicrohttpd libmicrohttpd-dev
    need_module jansson libjansson-dev
    need_module libcurl libcurl4-openssl-dev
    need_module libcrypto libssl-dev
    need_module sqlite3 libsqlite3-dev
    need_module gnutls libgnutls28-dev
    need_file '/etc/ssl/certs/ca-certificates.crt' ca-certificates # for https destinations
}

cannot_install() {
    echo "$1" >&2
    echo "    apt-get install ${needed[*]}" >&2
    exit 1
}

install_needed() {
    [ ${#needed[@]} -gt 0 ] || return 0
    local as_root=() log
    command -v apt-get >/dev/null ||
        cannot_install 'These Debian packages are missing, and there is no apt-get here; install their like:'
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            cannot_install 'These packages are missing, and there is no sudo; as root, please:'
        as_root=(sudo)
    fi
    mapfile -t needed < <(printf '%s\n' "${needed[@]}" | sort -u)
    echo "Installing ${needed[*]}" >&2
    # An outdated list of packages may do; if there is none, install says so.
    log=$(mktemp)
    "${as_root[@]}" apt-get -qq update >"$log" 2>&1 || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install "${needed[@]}" </dev/null >>"$log" 2>&1 || {
        cat "$log" >&2
        cannot_install 'apt-get failed. What was asked for:'
    }
    rm -f "$log"
    needed=()
    hash -r
}
